// The restaurants a dialogue can be about, and a conversation about them, as in data/world.py and page/chat.py.

const SILENCE = "<SILENCE>";
const GOES_ON = ["i'm on it", "ok let me look into some options for you", "sure let me find an other option for you"];
const LONGEST = 6; // responses in a row
const OFFER = "what do you think of this option:", GIVEN = "here it is";

class World {
  /** A restaurant for each place, price, cuisine and rating; `seats` has a digit for each: which of the numbers it seats. */
  constructor({ halves, prices, ratings, numbers, seats }) {
    Object.assign(this, { prices, numbers });
    this.cuisines = halves.flatMap((half) => half.cuisines);
    this.locations = halves.flatMap((half) => half.locations);
    this.facts = new Map();
    for (const { cuisines, locations } of halves) {
      for (const location of locations) for (const price of prices) for (const cuisine of cuisines) for (const rating of ratings) {
        const name = `resto_${location}_${price}_${cuisine}_${rating}stars`, number = numbers[Number(seats[this.facts.size])];
        this.facts.set(name, {
          R_phone: `${name}_phone`, R_cuisine: cuisine, R_address: `${name}_address`, R_location: location,
          R_number: number, R_price: price, R_rating: rating,
        });
      }
    }
    this.names = [...this.facts.keys()];
  }

  /** What an API call returns: facts { subject, relation, value }. */
  find(call) {
    const [, cuisine, location, number, price] = call.split(" ");
    const fits = ({ R_cuisine, R_location, R_number, R_price }) =>
      R_cuisine === cuisine && R_location === location && R_number === number && R_price === price;
    return this.names.filter((name) => fits(this.facts.get(name))).flatMap((subject) =>
      Object.entries(this.facts.get(subject)).map(([relation, value]) => ({ subject, relation, value })));
  }
}

/** A dialogue that grows. A system has answer(events, user) -> { text, ... }; events are { user, bot } or facts. */
class Conversation {
  constructor(system, world) {
    Object.assign(this, { system, world, events: [], said: [], waiting: [] });
  }

  /** Say something; nothing, after an API call, lets the system go on with what was found. */
  say(text) {
    let user = text;
    if (!user) {
      user = SILENCE;
      this.events.push(...this.waiting);
    }
    this.waiting = [];
    const began = this.said.length;
    do {
      const events = [...this.events], answer = this.system.answer(events, user);
      this.events.push({ user, bot: answer.text });
      if (answer.text.startsWith("api_call")) this.waiting = this.world.find(answer.text);
      this.said.push({ ...answer, user, history: events, found: this.waiting, remark: this.remark(answer.text) });
      user = SILENCE;
    } while (GOES_ON.includes(this.said.at(-1).text) && this.said.length - began < LONGEST);
    return this.said.slice(began);
  }

  /** What a listener who knows the restaurants would object. */
  remark(text) {
    const facts = this.events.filter((event) => event.subject), last = text.split(" ").at(-1);
    if (text.startsWith("api_call")) {
      const [, cuisine, location, number, price] = text.split(" "), { cuisines, locations, numbers, prices } = this.world;
      const lacking = [[cuisine, cuisines], [location, locations], [number, numbers], [price, prices]].find(([word, known]) => !known.includes(word));
      return lacking ? `the knowledge base knows no ${lacking[0]} here` : "";
    }
    if (text.startsWith(OFFER) && !facts.some((fact) => fact.subject === last)) return "none of those that were found";
    if (text.startsWith(GIVEN)) {
      const offered = this.said.filter((one) => one.text.startsWith(OFFER)).at(-1)?.text.split(" ").at(-1);
      if (!facts.some((fact) => fact.subject === offered && fact.value === last)) return "not of the restaurant that was offered last";
    }
    return "";
  }
}

/** The sentences of a memory, oldest first, each with who said it and in which turn. */
function linesOf(events) {
  let turn = 0;
  return events.flatMap((event) => (event.subject
    ? [{ text: `${event.subject} ${event.relation} ${event.value}`, speaker: "fact", turn }]
    : [{ text: event.user, speaker: "user", turn }, { text: event.bot, speaker: "system", turn: turn++ }]));
}
