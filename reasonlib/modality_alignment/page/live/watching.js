// A simulated scene is played, the reader asks, and the bundled model answers with what it looked at.

live("watching", ({ root, stage, data, weights, find }) => {
  const vocabulary = new Vocabulary(data.tokens), model = weights("model");
  const colours = { red: "#d23c3c", blue: "#2d6fd2", green: "#2f9e50", yellow: "#e0b400", black: "#3b3b3b", white: "#f4f4f4", pink: "#ee7fb0", brown: "#8a5a33", orange: "#f08a24", grey: "#9aa0a6" };
  let number = 0, frame = 0, timer = 0, questions = [], streams = "both", answered = null;

  // What can be asked about a scene: words, answers, and which of them is right --------------------------------
  function askable(scene) {
    const { actors, lines } = scene, shapes = actors.map((actor) => actor.shape);
    const most = (words) => words[argmax(words.map((word) => words.filter((other) => other === word).length))];
    const verb = most(lines.map((line) => line.verb)), size = most(actors.map((actor) => actor.size));
    const both = actors.filter((actor) => actor.size === size && lines.some((line) => line.verb === verb && line.shape === actor.shape));
    const meeting = both.length === 1 ? both[0].shape : null;
    const make_ = (needs, question, answers, right) => ({ needs, question, answers: new Random(7).shuffle(answers), right });
    return [
      ...actors.map((actor) => make_("video", `what colour is the ${actor.shape} ?`, actors.map((a) => a.colour), actor.colour)),
      ...actors.slice(0, 2).map((actor) => make_("video", "which colour is there ?", [actor.colour, ...new Random(actors.indexOf(actor) + 1).shuffle(data.colours.filter((colour) => actors.every((a) => a.colour !== colour))).slice(0, 4)], actor.colour)),
      ...lines.map((line) => make_("subtitles", `what does ${line.speaker} ${line.verb} ?`, lines.map((l) => l.shape), line.shape)),
      ...(meeting ? [make_("both", `what do most ${verb} that is ${size} ?`, shapes, meeting)] : []),
      make_("both", `what moves when ${lines[0].speaker} speaks ?`, shapes, actors[0].shape),
    ];
  }

  const scene = () => data.scenes[number];

  // The scene --------------------------------------------------------------------------------------------------
  const screen = draw("svg", { class: "rr-watching-screen", viewBox: "0 0 640 360", role: "img" });
  const slider = new Slider("frame", { min: 1, max: 5, step: 1, value: 1, say: (value) => `${value} of ${scene().frames.length}` }, (value) => { pause(); frame = value - 1; paint(); });
  const subtitles = make("ol", { class: "rr-watching-lines", "aria-label": "Subtitles" });
  const frames = make("div", { class: "rr-watching-frames", role: "img" });
  const slotOf = (at) => Math.floor((at * 5) / scene().frames.length);

  function figureOf({ label, box: [left, top, right, bottom] }, strong) {
    const actor = scene().actors.find((each) => each.shape === label), w = right - left, x = (left + right) / 2, y = (top + bottom) / 2, r = w / 2;
    const points = (count, inner = 1, turn = -Math.PI / 2) => range(inner === 1 ? count : 2 * count, (k) => {
      const angle = turn + (2 * Math.PI * k) / (inner === 1 ? count : 2 * count), size = inner !== 1 && k % 2 ? inner * r : r;
      return `${(x + size * Math.cos(angle)).toFixed(1)},${(y + size * Math.sin(angle)).toFixed(1)}`;
    }).join(" ");
    const look = { fill: colours[actor.colour], class: `rr-watching-thing${strong ? " rr-watching-strong" : ""}` };
    return {
      cube: () => draw("rect", { ...look, x: left, y: top, width: w, height: w }),
      ball: () => draw("circle", { ...look, cx: x, cy: y, r }),
      cone: () => draw("polygon", { ...look, points: points(3) }),
      ring: () => draw("path", { ...look, "fill-rule": "evenodd", d: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0zM${x - r / 2} ${y}a${r / 2} ${r / 2} 0 1 0 ${r} 0a${r / 2} ${r / 2} 0 1 0 ${-r} 0z` }),
      star: () => draw("polygon", { ...look, points: points(5, 0.45) }),
      disc: () => draw("ellipse", { ...look, cx: x, cy: y, rx: r, ry: 0.45 * r }),
      cross: () => draw("path", { ...look, d: markPath("cross", r), transform: `translate(${x} ${y})` }),
      arch: () => draw("path", { ...look, d: `M${left} ${bottom}v${-r}a${r} ${r} 0 0 1 ${w} 0v${r}h${-0.3 * w}v${-r}a${0.2 * w} ${0.2 * w} 0 0 0 ${-0.4 * w} 0v${r}z` }),
      drum: () => draw("rect", { ...look, x: left, y: top + 0.2 * w, width: w, height: 0.6 * w, rx: 0.25 * w }),
      bowl: () => draw("path", { ...look, d: `M${left} ${y}h${w}a${r} ${r} 0 0 1 ${-w} 0z` }),
    }[label]();
  }

  const actorOf = ({ label }) => scene().actors.find((actor) => actor.shape === label);

  /** Let an object move as it does while its frame is shown; only while the scene is played. */
  function moving(shape, motion) {
    const way = { left: "M0 0h-80", right: "M0 0h80", up: "M0 0v-80", down: "M0 0v80", around: "M0 0a40 40 0 1 1 -.1 0z" }[motion];
    const group = draw("g", {}, shape);
    if (way && timer && !matchMedia("(prefers-reduced-motion: reduce)").matches) group.append(draw("animateMotion", { path: way, dur: "0.9s", fill: "freeze", begin: "indefinite" }));
    return group;
  }

  function paint() {
    const regions = scene().frames[frame];
    screen.replaceChildren(...regions.map((region, at) => moving(figureOf(region, at === 0), at ? "" : actorOf(region).motion)));
    screen.setAttribute("aria-label", `Frame ${frame + 1}: ${regions.map(({ label }) => `${actorOf({ label }).colour} ${label}`).join(", ")}`);
    for (const motion of screen.querySelectorAll("animateMotion")) motion.beginElement();
    slider.value = frame + 1;
    [...subtitles.children].forEach((line, slot) => line.classList.toggle("rr-watching-now", slot === slotOf(frame)));
    [...frames.children].forEach((cell, at) => cell.classList.toggle("rr-watching-now", at === frame));
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function run() {
    if (timer) return pause();
    play.textContent = "Pause";
    timer = setInterval(() => {
      frame = (frame + 1) % scene().frames.length;
      paint();
      if (frame === scene().frames.length - 1) pause();
    }, 1100);
  }

  // The answer -------------------------------------------------------------------------------------------------
  const said = announcer(), list = make("div");

  function answer(at) {
    const asked = questions[at], ids = (text) => text.split(" ").map((word) => vocabulary.id(word)), { lines, frames: seen } = scene();
    const spoken = lines.map((line) => [line.speaker, "i", line.verb, "the", line.shape]); // the words that a model is trained on
    const given = { question: ids(asked.question), answers: asked.answers.map(ids), subtitle: spoken.flat().map((word) => vocabulary.id(word)), regions: seen.flat().map((region) => region.features) };
    const used = { both: ["subtitle", "regions"], subtitle: ["subtitle"], regions: ["regions"] }[streams];
    const { result, ms } = timed(() => readVideo(model, given, used));
    const shares = softmax(asked.answers.map((_, each) => sum(used.map((name) => result[name][each].score))));
    const best = argmax(shares), right = asked.answers.indexOf(asked.right);
    answered = { shares, best, right, given, result };
    said.replaceChildren("The model answers ", make("strong", {}, asked.answers[best]), best === right ? ", which is right." : `. The right answer is ${asked.right}.`,
      ` This question needs ${asked.needs === "both" ? "the video and the subtitles" : `the ${asked.needs}`}.`);
    list.replaceChildren(bars("How likely each answer is", asked.answers.map((text, each) => [text, shares[each], percent(shares[each])])));
    const words = used.includes("subtitle") ? result.subtitle[best].shares : null;
    let from = 0;
    subtitles.replaceChildren(...spoken.map((tokens) => {
      const shaded = tokens.map((word, k) => make("span", { class: "rr-live-heat rr-watching-word", style: heat(words ? Math.min(1, 4 * words[from + k]) : 0) }, k ? word : `${word}:`));
      from += tokens.length;
      return make("li", {}, shaded);
    }));
    const looks = used.includes("regions") ? result.regions[best].shares : null;
    let region = 0;
    frames.replaceChildren(...seen.map((all, k) => {
      const share = looks ? sum(all.map(() => looks[region++])) : 0;
      return make("span", { class: "rr-live-heat", style: heat(Math.min(1, 2 * share)) }, `${k + 1}`);
    }));
    frames.setAttribute("aria-label", looks ? "Frames; the shading says how much the answer takes from each" : "The video is switched off");
    find("took").textContent = took(ms);
    paint();
  }

  function open(next) {
    pause();
    number = ((next % data.scenes.length) + data.scenes.length) % data.scenes.length;
    frame = 0;
    slider.input.max = scene().frames.length;
    questions = askable(scene());
    choose.input.replaceChildren(...questions.map((each, at) => make("option", { value: at }, each.question)));
    choose.value = "0";
    answer(0);
  }

  const play = button("Play", run, { main: true });
  const choose = menu("Your question", {}, "0", (at) => answer(Number(at)));
  const sees = choices("The model uses", { both: "both", regions: "video", subtitle: "subtitles" }, streams, (chosen) => { streams = chosen; answer(Number(choose.value)); });
  stage.append(make("div", { class: "rr-live-row" }, play, button("Next scene", () => open(number + 1)), sees.element),
    make("div", { class: "rr-live-sides" }, make("div", {}, screen, slider.element, make("div", { class: "rr-live-title" }, "Frames, shaded by what the answer takes from them"), frames),
      make("div", { class: "rr-watching-side" }, choose.element, said, list, make("div", { class: "rr-live-title" }, "Subtitles, shaded in the same way"), subtitles)));
  open(0);

  root.watching = { // for tests and for the browser's console
    open, answer, frame: (at) => { frame = at; paint(); },
    use: (chosen) => { streams = chosen; sees.value = chosen; answer(Number(choose.value)); },
    questions: () => questions, answered: () => answered,
  };
});
