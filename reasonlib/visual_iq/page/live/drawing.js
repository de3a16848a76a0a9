// Panels as SVG and in words: the same strokes and the same sentences as reasonlib/visual_iq/page/svg.py.

const SIDE = 160;
const short = (number) => String(Math.round(number * 10) / 10 + 0);
const centreOf = ([row, column]) => [Math.trunc(column * SIDE), Math.trunc(row * SIDE)];

/** Corners of a polygon, turned counter-clockwise about its centre. */
function cornersOf(slot, [kind, size, , angle], levels) {
  const [across, down] = centreOf(slot), name = levels.types[kind];
  const unit = (Math.min(slot[2], slot[3]) * SIDE) / 2, whole = Math.trunc;
  const reach = whole(unit * levels.sizes[size]), half = whole(reach / 2), side = whole((reach / 2) * Math.sqrt(3));
  let points = [[0, -reach], [side, half], [-side, half]];
  if (name === "hexagon") points = [[0, -reach], [side, -half], [side, half], [0, reach], [-side, half], [-side, -half]];
  if (name === "square") {
    const edge = whole((unit / 2) * Math.sqrt(2) * levels.sizes[size]);
    points = [[-edge, -edge], [edge, -edge], [edge, edge], [-edge, edge]];
  }
  if (name === "pentagon") {
    const [high, wide] = [Math.sin(Math.PI / 10), Math.cos(Math.PI / 10)].map((part) => whole(reach * part));
    const [low, narrow] = [Math.cos(Math.PI / 5), Math.sin(Math.PI / 5)].map((part) => whole(reach * part));
    points = [[0, -reach], [wide, -high], [narrow, low], [-narrow, low], [-wide, -high]];
  }
  const turn = (levels.angles[angle] * Math.PI) / 180, cosine = Math.cos(turn), sine = Math.sin(turn);
  return points.map(([x, y]) => [across + 0.5 + x * cosine + y * sine, down + 0.5 - x * sine + y * cosine]);
}

function shapeOf(slot, entity, levels) {
  const [kind, size, colour] = entity, grey = levels.colours[colour].toString(16).padStart(2, "0");
  const fill = colour === 0 ? "" : ` fill="#${grey}${grey}${grey}"`;
  if (levels.types[kind] === "circle") {
    const [across, down] = centreOf(slot);
    const radius = Math.trunc(((Math.min(slot[2], slot[3]) * SIDE) / 2) * levels.sizes[size]);
    return `<circle cx="${across + 0.5}" cy="${down + 0.5}" r="${radius}"${fill}/>`;
  }
  const corners = cornersOf(slot, entity, levels).map(([x, y]) => `${short(x)} ${short(y)}`);
  return `<path d="M${corners.join("L")}z"${fill}/>`;
}

/** What stands on a panel: the entities, later ones above earlier ones, and the dividing line. */
function drawn(layout, panel, levels) {
  const shapes = panel.map((entity, slot) => (entity[0] ? shapeOf(layout.slots[slot], entity, levels) : ""));
  const middle = SIDE / 2 + 0.5;
  if (layout.structure === "Left_Right") shapes.push(`<path d="M${middle} 0V${SIDE}" stroke-width="1"/>`);
  if (layout.structure === "Up_Down") shapes.push(`<path d="M0 ${middle}H${SIDE}" stroke-width="1"/>`);
  return `<g fill="none" stroke="#000" stroke-width="${levels.edge}" stroke-linejoin="round">${shapes.join("")}</g>`;
}

/** What a panel shows, in words. */
function describe(layout, panel, levels) {
  const shade = (colour) => ({ 0: "white ", 9: "black " })[colour];
  const word = ([kind, size, colour]) => shade(colour)
    ? `a ${shade(colour)}${levels.types[kind]} of size ${size + 1}`
    : `a ${levels.types[kind]} of shade ${colour}, size ${size + 1}`;
  return layout.components.map(({ name, slots: [from, to] }) => {
    const groups = new Map();
    panel.slice(from, to).forEach((entity, place) => {
      if (entity[0]) groups.set(word(entity), [...(groups.get(word(entity)) ?? []), place + 1]);
    });
    const words = [...groups].map(([said, places]) => (to - from > 1 ? `at ${places.join(" ")}: ` : "") + said);
    return name + (words.join(", ") || "nothing");
  }).join("; ");
}
