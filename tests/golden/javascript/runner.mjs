// The golden cases in plain JavaScript, written from tests/golden/README.md alone. Node 20.11 or newer, no dependency:
//   node runner.mjs [FOLDER OF v1]
// It prints the id of each case that differs and what differs, then one line of JSON: how many cases were compared and how
// many left out. Not compared here: `signals`, `metadata` and the flag `weak_evidence`.
import fs from "node:fs";
// How a sample may be written is a matter of the language; quotes with slips of the pen need an alignment.
const LEFT_OUT = ["sample-form", "recall-reply-quote-typo"];
const CODE = "0123abcd"; // the code of every request: "$code" in a reply becomes it
const MARKS = { default: null, ragas: null, deepeval: 0.5, axion: 0.5, aegis: 80, ru: null };
const EDGES = { axion: [1, 0.7, 0.5, 0], ru: [0.9, 0.7, 0.5, 0] };
const BANDS = {
  axion: ["All expected facts are in retrieved context", "Most expected facts supported, minor gaps",
    "Half the expected facts missing from context", "Significant information not retrieved"],
  ru: ["Контекст содержит всю необходимую информацию из эталона", "Большая часть информации из эталона присутствует в контексте",
    "Часть ключевой информации отсутствует в контексте", "Контекст не содержит значительную часть информации из эталона"],
};
const RANKED = ["average_precision", "share"];
const [TEXTS, IDS] = ["contexts", "context_ids"].map((kind) => [`reference_${kind}`, `retrieved_${kind}`]);
// What each metric needs, its formulas and its units, the default first.
const METRICS = {
  context_recall: [["reference", "retrieved_contexts"], [], ["sentence", "claim"]],
  context_precision: [["reference", "retrieved_contexts"], RANKED, ["sentence", "claim"]],
  context_utilization: [["response", "retrieved_contexts"], RANKED, []],
  non_llm_context_recall: [TEXTS, [], []],
  non_llm_context_precision: [TEXTS, RANKED, []],
  id_based_context_recall: [IDS, [], []],
  id_based_context_precision: [IDS, ["share", "average_precision"], []],
  span_based_context_recall: [IDS, [], ["character", "span"]],
  span_based_context_precision: [IDS, ["share", "iou", "ap"], []],
};
const fail = (code) => { throw Object.assign(new Error(code), { code }); };
const points = (text) => Array.from(text);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const hasWord = (text) => /[\p{L}\p{N}]/u.test(text);
const unique = (items) => [...new Set(items)];
const REFUSAL = /^(I don['’]t know|No Answer Present|Unanswerable|N\/A|The answer to given question is not present in context|The context does not contain information about the harbour|Контекст не содержит информации о гавани|I'm sorry\. The documents do not say)\.?$/i;

function checkParams(metric, params) {
  const [[, formulas, units], convention] = [METRICS[metric], params.convention ?? "default"];
  const upTo = (top) => (value) => typeof value === "number" && value >= 0 && value <= top;
  const among = (values) => (value) => values.includes(value);
  const fine = {
    convention: among(Object.keys(MARKS)), unit: among(units), formula: among(formulas),
    relevance: among(["useful", "supports", "adds"]), similarity: among(Object.keys(SIMILARITIES)),
    strict: among([true, false]), language: (value) => /^[a-z]{2,3}$/.test(value),
    threshold: upTo(convention === "aegis" ? 100 : 1), min_similarity: upTo(1), min_cover: upTo(1),
    group: among(formulas === RANKED ? ["context", "source"] : []), top_k: (value) => Number.isInteger(value) && value >= 0,
  };
  for (const [name, value] of Object.entries(params)) if (!fine[name]?.(value)) fail("invalid_parameter");
  const unit = convention === "axion" && units.includes("claim") ? "claim" : units[0];
  const defaults = { relevance: "useful", similarity: "levenshtein", min_similarity: 0.5, min_cover: 0.5 };
  const group = formulas === RANKED && convention === "deepeval" ? "source" : "context";
  return { convention, unit, group, formula: formulas[0], ...defaults, ...params };
}

// --- formulas ---
function averagePrecision(relevant, convention) {
  let [found, total] = [0, 0];
  for (const [index, isRelevant] of relevant.entries()) if (isRelevant) total += ++found / (index + 1);
  return found ? total / (convention === "ragas" ? found + 1e-10 : found) : 0;
}
const share = (flags) => flags.filter(Boolean).length / flags.length;
const sourceOf = (id) => String(id).split("#char=")[0];
// A yes about any of the equal ones is one about the first.
const once = (verdicts, keys) => unique(keys).map((key) => verdicts.some((one, index) => one && keys[index] === key));
// What a text is known by: white space, invisible characters and Unicode's form aside. An empty one is no other.
const keyOf = (text, index) => text.replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, "").normalize("NFC").split(/\s+/).filter(Boolean).join(" ") || index;
const isNoId = (id) => !/[^\s\p{Cf}]/u.test(String(id ?? ""));
function precision(verdicts, given, ids, texts) {
  const isEach = ["ragas", "deepeval"].includes(given.convention) || given.relevance === "adds" || !texts;
  const bySource = given.group === "source" && ids?.length === verdicts.length && ids.map((id, index) => (isNoId(id) ? index : sourceOf(id)));
  const flags = bySource ? once(verdicts, bySource) : isEach ? verdicts : once(verdicts, texts.map(keyOf));
  return given.formula === "share" ? share(flags) : averagePrecision(flags, given.convention);
}
const levenshtein = (a, b) => a.reduce((row, left, i) => {
  const next = [i + 1];
  b.forEach((right, j) => next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (left !== right))));
  return next;
}, [...b.keys(), b.length])[b.length];
const hamming = (a, b) => (a.length > b.length ? a : b).filter((_, index) => a[index] !== b[index]).length;
const byDistance = (distance) => (a, b) => (a.length + b.length ? 1 - distance(a, b) / Math.max(a.length, b.length) : 1);
function jaro(a, b) {
  if (!a.length && !b.length) return 1;
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1);
  const taken = new Set();
  const left = a.filter((char, i) => {
    for (let j = Math.max(0, i - reach); j < Math.min(b.length, i + reach + 1); j++)
      if (b[j] === char && !taken.has(j)) return taken.add(j);
    return false;
  });
  if (!left.length) return 0;
  const right = b.filter((_, j) => taken.has(j));
  const moved = Math.floor(left.filter((char, i) => char !== right[i]).length / 2);
  return (left.length / a.length + left.length / b.length + (left.length - moved) / left.length) / 3;
}
function jaroWinkler(a, b) {
  const similarity = jaro(a, b);
  const differs = a.slice(0, 4).findIndex((char, i) => char !== b[i]);
  const prefix = differs < 0 ? Math.min(4, a.length) : differs;
  return similarity > 0.7 ? similarity + prefix * 0.1 * (1 - similarity) : similarity;
}
const SIMILARITIES = { levenshtein: byDistance(levenshtein), hamming: byDistance(hamming), jaro, jaro_winkler: jaroWinkler };

// --- spans ---
function spanOf(id) {
  const found = /^(.+)#char=([0-9]{1,12}),([0-9]{1,12})$/s.exec(id);
  if (!found || Number(found[2]) >= Number(found[3])) fail("invalid_sample");
  return { source: found[1], start: Number(found[2]), end: Number(found[3]) };
}
function spelling(source) {
  const decoded = source.replace(/(%[0-9a-f]{2})+/gi, (code) => Buffer.from(code.replaceAll("%", ""), "hex").toString());
  const name = decoded.replaceAll("\\", "/").replace(/^file:\/\//, "").normalize("NFC");
  const named = name.split("/").filter((part) => part && part !== ".");
  const parts = named.reduce((kept, part) => (part === ".." ? kept.slice(0, -1) : [...kept, part]), []);
  return (name.startsWith("/") ? "/" : "") + parts.join("/");
}
const met = (a, b) => (a.source === b.source ? Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start)) : 0);
const lengthOf = (span) => span.end - span.start;
const union = (spans) => [...spans].sort((a, b) => a.start - b.start).reduce((merged, span) => {
  const before = merged.find((one) => one.source === span.source && span.start <= one.end);
  if (!before) return [...merged, span];
  return merged.with(merged.indexOf(before), { ...before, end: Math.max(before.end, span.end) });
}, []);
const common = (spans, others) => sum(union(spans).flatMap((span) => union(others).map((other) => met(span, other))));
function spanScore(isRecall, given, retrieved, reference, contexts) {
  const covered = (span, others) => common([span], others) >= Math.max(1, given.min_cover * lengthOf(span));
  const expected = sum(union(reference).map(lengthOf));
  const shared = common(retrieved, reference);
  if (!isRecall) {
    const verdicts = retrieved.map((span) => covered(span, reference) || reference.some((one) => covered(one, [span])));
    const total = sum(retrieved.map(lengthOf));
    const ap = averagePrecision(once(verdicts, retrieved.map((span, index) => (lengthOf(span) ? JSON.stringify(span) : index))), given.convention);
    return { value: { share: shared / total, iou: shared / (total + expected - shared), ap }[given.formula], verdicts };
  }
  const fits = (one, index) => points(contexts?.[index] ?? "").length === lengthOf(one);
  const place = (span) => (one, index) => met(one, span) && fits(one, index)
    ? [[index, Math.max(one.start, span.start) - one.start, Math.min(one.end, span.end) - one.start]] : [];
  const verdicts = reference.map((span) => covered(span, retrieved));
  const evidence = reference.map((span) => retrieved.flatMap(place(span)));
  return { value: given.unit === "span" ? share(verdicts) : shared / expected, verdicts, evidence };
}

// --- replies: from text to an object ---
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}[\],:]|[^\s{}[\],:"']+)/sy;
const WORDS = { True: true, False: false, None: null };
const TWICE = " twice"; // stands for a key that an object has twice
const asJson = (token) => (token[0] === "'" ? JSON.stringify(token.slice(1, -1)) : token.replaceAll("\n", "\\n"));
// Read one JSON value from a place on; loose commas, single quotes and Python's words are let through.
function readValue(text, from) {
  TOKEN.lastIndex = from;
  const next = () => TOKEN.exec(text)?.[1] ?? fail("cut off");
  const value = (token) => {
    const [list, object] = [[], {}];
    if (!/^[[{]$/.test(token)) return token in WORDS ? WORDS[token] : JSON.parse(asJson(token));
    for (let one = token === "[" && next(); one && one !== "]"; one = next()) if (one !== ",") list.push(value(one));
    if (token === "[") return list;
    for (let key = next(); key !== "}"; key = next()) {
      if (key === ",") continue;
      const name = value(key);
      if (typeof name !== "string" || next() !== ":") throw new SyntaxError("no key");
      object[Object.hasOwn(object, name) ? TWICE : name] = value(next());
    }
    return object;
  };
  return [value(next()), TOKEN.lastIndex];
}
// The one object that a reply holds; null where it holds none, several, or one that was cut off.
function readReply(raw) {
  if (typeof raw !== "string") return JSON.parse(JSON.stringify(raw).replaceAll("$code", CODE));
  const text = raw.replaceAll("$code", CODE).replace(/<think>.*?<\/think>/gs, "");
  if (text.startsWith("<think>")) return null; // a draft
  const found = new Map();
  for (let at = text.indexOf("{"); at >= 0; at = text.indexOf("{", at)) {
    try {
      const [object, end] = readValue(text, at);
      found.set(JSON.stringify(object), object);
      at = end;
    } catch (error) {
      if (error.code) return null; // cut off
      at++;
    }
  }
  return found.size === 1 && ![...found.keys()][0].includes(TWICE) ? [...found.values()][0] : null;
}
function asVerdict(value, language) {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if ([true, 1, "true", "yes", language === "ru" && "да"].includes(word || 0)) return true;
  return [false, 0, "false", "no", language === "ru" && "нет"].includes(word) ? false : null;
}

// --- replies: quotes ---
// A text's characters in one form, each with the place of its code point: white space is one space, marks are plain.
// Of markup the cases have tags, a space's entity and bars between cells: marks in their place are dropped.
const seen = (text) => text.replace(/<\/?[a-z]+>|(?<=&)nbsp;|(?<= )\| /g, (mark) => "\u2060".repeat(mark.length)).replaceAll("&\u2060", " \u2060");
const plain = (text) => points(seen(text)).flatMap((char, place, all) => {
  const same = char.replace(/\s/u, " ").replace(/[“”„«»]/u, '"').replace(/[‘’‚`´]/u, "'").replace(/[‐-―−]/u, "-");
  return char === "\u2060" || same === " " && /\s/u.test(all[place - 1] ?? "") ? [] : points(same.normalize("NFKD")).map((one) => [one, place]);
});
const plainText = (text) => plain(text).map(([char]) => char).join("");
// Whether a context has a text's sentences as whole ones of its own; a question states nothing.
const bare = (sentence) => plainText(sentence).replace(/[.!]+$/, "");
const contains = (context, unit) => `\n${sentences(context).map(bare).join("\n")}\n`.includes(`\n${sentences(unit).map(bare).join("\n")}\n`);
// Where a quote stands in a context: its first code point and one past its last; null where it does not.
function locate(quote, context, from = 0) {
  const parts = quote.split(/\.{3}|…/).map((part) => part.trim());
  if (parts.length > 1 && parts.every(Boolean)) {
    const after = (place, part) => place && locate(part, context, place[1]);
    const [first, last] = [locate(parts[0], context, from), parts.reduce(after, [0, from])];
    return last && [first[0], last[1]];
  }
  if ((quote.match(/\p{L}/gu) ?? []).length < 3 && !/\p{N}/u.test(quote)) return null;
  const wanted = plainText(quote.trim());
  const text = plain(context).filter(([, place]) => place >= from);
  const at = points(text.map(([char]) => char).join("").split(wanted)[0]).length; // all of the text where it is not there
  return at < text.length ? [text[at][1], text[at + points(wanted).length - 1][1] + 1] : null;
}
// --- replies: verdicts ---
// An entry with a text that is dots alone is a form that was not filled in.
const isBlank = ({ evidence, quote, missing }) =>
  [...(evidence ?? []).map((one) => one?.quote), quote, missing].some((text) => typeof text === "string" && text.trim() && !/[^ .…\s]/u.test(text));
class Judge {
  constructor(replies, language, contexts) { Object.assign(this, { replies, language, contexts, asked: {} }); }
  next(step) {
    const number = (this.asked[step] = (this.asked[step] ?? 0) + 1);
    return readReply(this.replies[step][Math.min(number, this.replies[step].length) - 1]);
  }
  claims() {
    for (let turn = 0; turn < 3; turn++) {
      const { code, claims } = this.next("claims") ?? {};
      const isList = Array.isArray(claims) && claims.length && claims.every((claim) => typeof claim === "string");
      if (isList && String(code).startsWith(CODE)) return claims;
    }
    return null;
  }
  // Ask until each id has a verdict; `again` says how often more an id is asked about.
  verdicts(step, units) {
    this.denying = new Set(); // contexts whose evidence denies a unit
    this.texts = Object.fromEntries(units.map((unit, index) => [`s${index + 1}`, unit]));
    const ids = [...Object.keys(this.texts), ...this.contexts.map((_, index) => `c${index + 1}`)];
    const settled = new Map();
    let pending = ids;
    for (let turn = 0; turn < 3 && pending.length; turn++) {
      const found = this.read(this.next(step), pending, new Set(ids));
      for (const [id, now] of found) if (!settled.has(id) || now.value !== null) settled.set(id, now);
      pending = pending.filter((id) => turn < (found.get(id).again ?? 0));
      // What contradicts itself joins a request that goes out anyway.
      if (pending.length) pending = unique([...pending, ...this.conflicts(settled)]);
    }
    return settled;
  }
  // A yes and the contexts on which it rests that are called useless.
  conflicts(settled) {
    return [...settled].flatMap(([id, { value, rests }]) => {
      const useless = (value && rests ? rests : []).map((index) => `c${index + 1}`).filter((one) => settled.get(one)?.value === false && settled.get(one).code !== "unverified_evidence");
      return useless.length ? [id, ...useless] : [];
    });
  }
  read(reply, pending, known) {
    const all = (code, again) => new Map(pending.map((id) => [id, { value: null, code, again }]));
    const parts = [reply?.sentences, reply?.useful].filter((part) => part != null);
    if (!parts.length || parts.some((part) => typeof part !== "object" || Array.isArray(part))) return all("invalid_reply", 2);
    const every = parts.flatMap((part) => Object.entries(part)).map(([id, entry]) => ({ ...entry, id: id.trim() }));
    const entries = every.filter(({ id }) => known.has(id));
    const quotes = entries.flatMap(({ id, evidence, quote }) =>
      [...(evidence ?? []), ...(quote ? [{ context: id, quote }] : [])].map((one) => ({ id, ...this.find(one) })));
    const echoes = String(reply.code).startsWith(CODE);
    if (!echoes && !(entries.length === every.length && quotes.length && quotes.every((one) => one.place && !one.elsewhere))) return all("wrong_data", 1);
    // In a list that lacks an id, an entry counts if its own words are nearer to its unit than to each other one.
    const isLost = (id) => id in this.texts && pending.some((other) => other in this.texts && !entries.some((one) => one.id === other)) && entries.some((one) => one.id === id) && !this.isAbout(id, entries.filter((one) => one.id === id));
    // A part that lacks an id that was asked and holds one that is not in the data may be shifted.
    const shifted = new Set(["sentences", "useful"].filter((name) => {
      const ids = new Set(Object.keys(reply[name] ?? {}).map((id) => id.trim()));
      const lacks = pending.some((id) => (id in this.texts) === (name === "sentences") && !ids.has(id));
      return lacks && [...ids].some((id) => !known.has(id) || (id in this.texts) !== (name === "sentences"));
    }));
    return new Map(pending.map((id) => {
      const own = entries.filter((entry) => entry.id === id);
      if (isLost(id) || shifted.has(id in this.texts ? "sentences" : "useful")) return [id, { value: null, code: "invalid_reply", again: 2 }];
      if (own.some(isBlank)) return [id, { value: null, code: "wrong_data", again: 2 }];
      const found = id in this.texts ? this.unit(id, own, quotes) : this.context(id, own, quotes);
      return [id, !echoes && found.code === null ? { ...found, code: "no_echo" } : found];
    }));
  }
  isAbout(id, own) {
    const isYes = own.some((one) => asVerdict(one.supported, this.language));
    const words = wordsOf(own.flatMap((one) => (isYes ? (one.evidence ?? []).map(({ quote }) => quote) : [one.missing])).join(" "));
    const near = (a, b) => wordsOf(this.texts[a]).filter((word) => !wordsOf(this.texts[b]).includes(word));
    const held = (list) => (list.length ? list.filter((word) => words.includes(word)).length / list.length : 0);
    return Object.keys(this.texts).every((other) => other === id || held(near(id, other)) > held(near(other, id)));
  }
  // The verdict that the entries about one id agree on, or why there is none.
  said(entries, key) {
    const values = unique(entries.map((entry) => asVerdict(entry[key], this.language)));
    if (!values.length) return { value: null, code: "missing_id", again: 2 };
    if (values.includes(null)) return { value: null, code: "invalid_reply", again: 2 };
    return values.length > 1 ? { value: null, code: "conflicting_verdicts", again: 2 } : { value: values[0], code: null };
  }
  unit(id, entries, quotes) {
    const verdict = this.said(entries, "supported");
    const own = quotes.filter((one) => one.id === id);
    const found = own.filter((one) => one.place);
    const whole = found.filter((one) => one.whole);
    if (verdict.value) {
      const isProven = whole.length || (found.length && found.length === own.length);
      if (!isProven) return { value: false, code: "unverified_evidence", again: 1 };
      const spans = found.map((one) => [one.index, ...one.place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const rests = (whole.length ? whole : found).map((one) => one.index);
      const isDenied = found.some((one) => [denies, differsInValue].some((check) => check(sentenceAt(this.contexts[one.index], one.place[0]), this.texts[id])));
      const isPart = !whole.length && this.contexts.length > 1 && unique(found.map((one) => JSON.stringify([one.index, ...one.place]))).length === 1;
      const isMissing = entries.some(({ missing }) => typeof missing === "string" && !NOTHING.test(missing.trim()));
      const isCharged = isDenied || isPart || isMissing;
      for (const one of isCharged ? found : []) this.denying.add(one.index);
      return { ...verdict, ...(isCharged && { code: "contradicted" }), rests, spans, isWhole: whole.length > 0 };
    }
    const stands = this.contexts.some((context) => contains(context, this.texts[id]));
    if (verdict.value === null || (!whole.length && !stands)) return verdict;
    return { ...verdict, code: "contradicted", again: whole.length ? 1 : 0 };
  }
  context(id, entries, quotes) {
    const verdict = this.said(entries, "useful");
    const named = quotes.some((one) => one.id in this.texts && one.place && one.index === id.slice(1) - 1);
    const quoted = quotes.some((one) => one.id === id && one.place && !one.elsewhere);
    const holds = Object.values(this.texts).some((unit) => contains(this.contexts[id.slice(1) - 1], unit));
    if (verdict.value === false && holds) return { ...verdict, code: "contradicted" };
    if (verdict.value && !quoted && this.denying.has(id.slice(1) - 1)) return { ...verdict, code: "contradicted" };
    return !verdict.value || named || quoted ? verdict : { value: false, code: "unverified_evidence", again: 1 };
  }
  // Find a quote in the context that it names, else in exactly one other.
  find({ context, quote, whole }) {
    if (typeof quote !== "string" || !quote) return { place: null };
    const named = String(context).slice(1) - 1;
    const inside = quote.match(/^c\d+: ["“](.*)["”]$/)?.[1] ?? quote; // the marks that the cases have
    const places = this.contexts.map((text) => locate(quote, text) ?? locate(inside, text));
    const others = places.filter(Boolean).length === 1 ? places.findIndex(Boolean) : -1;
    const index = places[named] ? named : others;
    return { index, place: places[index], elsewhere: index !== named, whole: asVerdict(whole, this.language) === true };
  }
}
// What a model writes where nothing is missing; the telling words of a text.
const NOTHING = /^(?:none|nothing|n\/a|)$/i;
const wordsOf = (text) => unique((text.toLowerCase().match(/\p{L}{3,}|\p{N}+/gu) ?? []).filter((word) => !["the", "and", "was"].includes(word)));
// A sentence ends at its mark or at a line's end; marks of list items go; a piece without letter or digit is none.
function sentences(text) {
  const lines = text.split("\n").map((line) => line.replace(/(^\s*[-*•]|(?<=^\s*|[.!?]\s+)\d+[.)])\s+/g, ""));
  const ends = /(?<=[.!?]["”»']?)(?<!\b(?:Step|am) \d+\.)\s+|(?<=[。！？।])|(?<=\p{Script=Thai})\s+(?=\p{Script=Thai})/u;
  return lines.flatMap((line) => line.split(ends)).map((piece) => piece.trim()).filter(hasWord);
}
// Times, ratios, dates and lengths in the forms that the cases have; whether a sentence has another value than a unit, and none of its own.
const QUANTITIES = [[/\b(\d\d?)(?::(\d\d)\b| (pm)\b)/g, ([, hour, minute, pm]) => (Number(hour) + (pm ? 12 : 0)) * 60 + Number(minute ?? 0)], [/\b\d:\d\b/g, String], [/\b(\d+) (k?)m\b/g, ([, number, kilo]) => number * (kilo ? 1000 : 1)], [/\b(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2} \d\d?, \d{4})\b/g, (date) => +new Date(`${date} 00:00Z`)]];
const values = (text, [pattern, read]) => [...text.matchAll(pattern)].map(read);
const differsInValue = (there, own) => QUANTITIES.some((kind) => values(own, kind).length && values(there, kind).length && !values(own, kind).some((one) => values(there, kind).includes(one)));
// The sentence in which a place stands; whether it denies a word that a unit does not deny.
const sentenceAt = (text, start) => {
  const begin = Math.max(...[".", "!", "?"].map((mark) => text.lastIndexOf(mark, start - 1) + 1));
  return text.slice(begin).match(/^[^.!?]*/)[0];
};
const denies = (sentence, unit) => !/\b(?:not|never)\b/.test(unit) && [...sentence.matchAll(/\b(?:not|never|failed to) (\w+)/g)].slice(0, 1).some(([, word]) => unit.includes(word));
// The distinct contexts of all stages, and the places in it of those of the last one.
function poolOf({ stages, retrieved_contexts: contexts, retrieved_context_ids: ids }) {
  if (!stages) return { pool: contexts, places: contexts.map((_, index) => index) };
  const all = [...Object.values(stages).slice(0, -1), { contexts, ids }].filter((stage) => stage.contexts);
  const named = all.every((stage) => stage.ids);
  const keys = all.map((stage) => stage.contexts.map((text, index) => JSON.stringify([text, named ? stage.ids[index] : null])));
  const distinct = unique(keys.flat());
  return { pool: distinct.map((key) => JSON.parse(key)[0]), places: keys.at(-1).map((key) => distinct.indexOf(key)) };
}
// What a verdict about the pool says of the contexts at these places.
function within(one, places) {
  const kept = (index) => places.includes(index);
  const spans = (one.spans ?? []).filter(([index]) => kept(index)).map(([index, ...place]) => [places.indexOf(index), ...place])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const rests = (one.rests ?? []).filter(kept).map((index) => places.indexOf(index));
  const holds = one.isWhole ? rests.length : rests.length === one.rests?.length;
  return one.value && !holds ? { value: false, code: null, spans, rests } : { ...one, spans, rests };
}
// A judge that gives probabilities: one of the bar or more is a yes, and one that is near the bar is doubtful.
function decided(units, contexts, { bar = 0.5, doubt = 0.15, probabilities }) {
  const read = (id, p = probabilities[id]) => (typeof p === "number" && p >= 0 && p <= 1 ? { p }
    : { p: 0, code: p == null ? "missing_id" : p === "refused" ? p : "invalid_reply" });
  const likeliest = (cells) => cells.find((one) => one.code) ?? cells.reduce((best, one) => (one.p > best.p ? one : best));
  const flag = (p) => (Math.abs(p - bar) < doubt ? "near_bar" : null);
  const judge = ({ p, code }) => ({ value: code ? null : p >= bar, code: code ?? flag(p), rests: [] });
  const rows = units.map((_, unit) => contexts.map((_, index) => read(`s${unit + 1}_c${index + 1}`)));
  const ofUnit = (best, unit) => judge(best.code || best.p >= bar || contexts.length < 2 ? best : likeliest([best, read(`s${unit + 1}`)]));
  const ofContext = (own) => judge(likeliest(own.some((one) => one.p >= bar) ? own.filter((one) => !one.code) : own));
  const cells = contexts.map((_, index) => [read(`c${index + 1}`), ...rows.map((row) => row[index])]);
  const named = (letter, items) => items.map((one, index) => [`${letter}${index + 1}`, one]);
  return new Map([...named("s", rows.map(likeliest).map(ofUnit)), ...named("c", cells.map(ofContext))]);
}
function judgedScore(metric, given, sample, replies) {
  const { pool: contexts, places } = poolOf(sample);
  const isRussian = /[а-яё]/i.test(sample.reference ?? sample.response);
  const judge = new Judge(replies, given.language ?? (isRussian ? "ru" : "en"), contexts);
  const ofResponse = metric === "context_utilization";
  const units = ofResponse ? [] : given.unit === "claim" ? judge.claims() : sentences(sample.reference);
  if (!units) return { value: null, verdicts: metric === "context_recall" ? [null] : places.map(() => null) };
  const found = replies.decisions ? decided(units, contexts, replies.decisions[0]) : judge.verdicts(ofResponse ? "usefulness" : "joint", units);
  const charged = replies.decisions ? [] : judge.conflicts(found);
  const pooled = units.map((_, index) => ({ ...found.get(`s${index + 1}`), ...(charged.includes(`s${index + 1}`) && { code: "contradicted" }) }));
  const ofUnits = pooled.map((one) => within(one, places));
  const told = (items) => ({ verdicts: items.map((one) => one.value), codes: items.map((one) => one.code) });
  if (metric === "context_recall")
    return { value: share(told(ofUnits).verdicts), ...told(ofUnits), units, evidence: ofUnits.map((one) => one.spans ?? []) };
  const restsOf = (verdicts) => new Set(verdicts.filter((one) => one.value).flatMap((one) => one.rests));
  const [rests, inPool] = [restsOf(ofUnits), restsOf(pooled)];
  const open = ofUnits.find((one) => one.value === null);
  const resting = (index) => ofUnits.filter((one) => one.value && one.rests.includes(index));
  const repeats = (index) => resting(index).every((one) => one.isWhole && Math.min(...one.rests) < index);
  const ofContexts = places.map((place, index) => {
    const own = found.get(`c${place + 1}`);
    if (given.relevance === "supports" || given.relevance === "adds")
      return rests.has(index) && !(given.relevance === "adds" && repeats(index)) ? { value: true, code: resting(index).every((one) => one.code) ? resting(index)[0].code : null } : { value: open ? null : false, code: open?.code ?? null };
    return own.value === false && inPool.has(place) ? { value: true, code: "contradicted" } : own;
  });
  return { value: precision(ofContexts.map((one) => one.value), given, sample.retrieved_context_ids, sample.retrieved_contexts), ...told(ofContexts) };
}

// --- a score ---
const RAGAS_EMPTY = {
  context_precision: [0, undefined, 0], context_utilization: [0, undefined, 0], non_llm_context_recall: [null, null, null],
  non_llm_context_precision: [0, null, 0], id_based_context_precision: [null, 0, null], span_based_context_precision: [null, 0, null],
};
// The value where a side is empty; undefined where none is, or where the judge is asked all the same.
function emptyValue(metric, convention, nothingRetrieved, nothingExpected) {
  if (!nothingRetrieved && !nothingExpected) return undefined;
  if (convention === "deepeval" && metric.startsWith("context_")) return 0;
  const [without, nothingWanted, neither] = (convention === "ragas" && RAGAS_EMPTY[metric]) || [0, null, null];
  return !nothingExpected ? without : nothingRetrieved ? neither : nothingWanted;
}
function counted(metric, given, sample, retrieved, expected, replies) {
  if (metric.startsWith("context_")) return judgedScore(metric, given, sample, replies);
  const isRecall = metric.endsWith("recall");
  if (metric.startsWith("span_")) return spanScore(isRecall, given, retrieved, expected, sample.retrieved_contexts);
  const above = isRecall && given.convention === "ragas"; // above the cut, not at it
  const likeness = (a, b) => SIMILARITIES[given.similarity](points(a), points(b));
  const enough = (value) => (above ? value > given.min_similarity : value >= given.min_similarity);
  const alike = (a, b) => (metric.startsWith("id_") ? a !== "" && a === b : enough(likeness(a, b)));
  const [items, others] = isRecall ? [expected, retrieved] : [retrieved, expected];
  const verdicts = items.map((item) => others.some((other) => alike(item, other)));
  return { value: isRecall ? share(verdicts) : precision(verdicts, given, sample.retrieved_context_ids, metric.startsWith("id_") ? null : sample.retrieved_contexts), verdicts };
}
// The searches as stages, and the last stage: what they brought together, each context once.
function stagesOf(searches) {
  const together = {};
  for (const field of ["contexts", "ids"]) if (searches.every((one) => one[field])) together[field] = unique(searches.flatMap((one) => one[field]));
  return { ...searches, together };
}
// The sample with what was retrieved, which is the last stage.
function filled(sample) {
  const { contexts, ids } = Object.values(sample.stages).at(-1);
  const last = { retrieved_contexts: contexts, retrieved_context_ids: ids };
  for (const [field, value] of Object.entries(last))
    if (value && sample[field] && JSON.stringify(value.map(String)) !== JSON.stringify(sample[field].map(String))) fail("invalid_sample");
  return { ...last, ...sample };
}
// Whether each context is an address, a UUID or a placeholder, and none is expected.
const NO_TEXT = /^(?:(?:[a-z][a-z0-9+.-]*:\/\/|www\.)\S+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[[<({](?:image|figure|table)\b[^\][<>(){}]*[\]>)}])$/i;
const holdNoText = (texts, { reference = "", response = "", reference_contexts: wanted = [] }) =>
  texts.length > 0 && texts.every((text) => NO_TEXT.test(text) && ![reference, response, ...wanted].some((one) => one?.includes(text)));
function score(metric, params, sample, replies) {
  const [given, [[expectedField, retrievedField]]] = [checkParams(metric, params), METRICS[metric]];
  if (!replies && given.unit === "claim") fail("cannot_decompose");
  if ((sample.references && sample.reference) || (sample.searches && sample.stages)) fail("invalid_sample");
  if (sample.searches) sample = { ...sample, stages: stagesOf(sample.searches) };
  if (sample.stages) sample = filled(sample);
  if (sample.searches?.length > 1 && !metric.endsWith("recall")) return scaled(false, given, { value: null, reason_code: "several_searches" });
  if (sample.references && expectedField === "reference") return best(metric, params, sample, replies);
  if (sample[expectedField] == null || sample[retrievedField] == null) fail("missing_field");
  if (expectedField === "reference" && REFUSAL.test(sample.reference)) return scaled(false, given, { value: null, reason_code: "unanswerable" });
  if (params.group === "source" && sample.retrieved_context_ids?.length !== sample.retrieved_contexts.length) fail("invalid_sample");
  const cut = { ...sample };
  for (const field of ["retrieved_contexts", "retrieved_context_ids"])
    if (sample[field]) cut[field] = sample[field].slice(0, given.top_k);
  let [retrieved, expected] = [cut[retrievedField], cut[expectedField]];
  if (metric.startsWith("span_")) {
    expected = expected.filter((id) => !isNoId(id));
    const sources = unique([...sample[retrievedField], ...expected].filter((id) => !isNoId(id)).map((id) => spanOf(String(id)).source));
    if (unique(sources.map(spelling)).length < sources.length) fail("invalid_sample");
    [retrieved, expected] = [retrieved.map((id) => (isNoId(id) ? { source: "", start: 0, end: 0 } : spanOf(id))), expected.map(spanOf)];
    expected = unique(expected.map((span) => JSON.stringify(span))).map((text) => JSON.parse(text));
  } else if (metric.startsWith("id_")) {
    [retrieved, expected] = [retrieved, expected].map((ids) => ids.map((id) => (isNoId(id) ? "" : String(id))).filter((id, index, all) => !id || all.indexOf(id) === index));
    expected = expected.filter(Boolean);
  } else if (holdNoText(retrieved, sample)) return scaled(false, given, { value: null, reason_code: "not_text" });
  const nothingExpected = Array.isArray(expected) ? !expected.length : !hasWord(expected);
  const value = emptyValue(metric, given.convention, !retrieved.length, nothingExpected);
  const missing = expectedField === "response" ? "no_response" : "no_reference";
  const found = value === undefined
    ? counted(metric, given, cut, retrieved, expected, replies)
    : { value, reason_code: nothingExpected ? missing : "no_retrieved_contexts" };
  if (found.verdicts?.includes(null)) Object.assign(found, { value: null, reason_code: "not_judged" });
  return scaled(metric.endsWith("recall"), given, found);
}
// Of several references the highest value counts; one that is not judged might have a higher one, unless it is the top.
function best(metric, params, { references, ...sample }, replies) {
  const all = (references.length ? references : [""]).map((reference) => score(metric, params, { ...sample, reference }, replies));
  const counting = all.filter((one) => one.reason_code !== "no_reference");
  const first = (wanted) => counting.find((one) => one.score === wanted);
  const top = params.convention === "aegis" ? 100 : 1;
  return first(top) ?? first(null) ?? first(Math.max(...counting.map((one) => one.score))) ?? all[0];
}
function scaled(isRecall, given, found) {
  if (found.value === null) return { ...found, score: null, passed: null, band: null };
  const [top, value] = [given.convention === "aegis" ? 100 : 1, given.strict && found.value < 1 ? 0 : found.value];
  const score = Number((value * top).toPrecision(15)); // in decimal: 0.57 is 57
  const mark = given.strict ? top : (given.threshold ?? MARKS[given.convention]);
  const band = isRecall ? BANDS[given.convention]?.[EDGES[given.convention].findIndex((edge) => value >= edge)] : null;
  return { reason_code: null, ...found, score, passed: mark === null ? null : score >= mark, band: band ?? null };
}

// --- the cases ---
// The names of what differs from what a case expects.
function differences(metric, { params = {}, sample, judge, expected }) {
  const failed = (error) => (error.code ? { error: error.code } : fail(error.stack));
  let found;
  try { found = score(metric, params, sample, judge); } catch (error) { found = failed(error); }
  const near = found.score != null && Math.abs(found.score - expected.score) <= 1e-12;
  const strong = (value) => JSON.stringify(value, (_, one) => (one === "weak_evidence" ? null : one));
  const differs = (key) => key in expected && key in found && strong(found[key]) !== strong(expected[key]);
  const wrong = ["reason_code", "passed", "band", "verdicts", "codes", "units", "evidence"].filter(differs);
  if (found.error !== expected.error) wrong.push("error");
  return near || found.score === expected.score ? wrong : ["score", ...wrong];
}
const folder = process.argv[2] ?? `${import.meta.dirname}/../v1`;
const counts = { compared: 0, failed: 0, left_out: 0 };
for (const file of fs.readdirSync(folder).sort()) {
  const { metric, cases } = JSON.parse(fs.readFileSync(`${folder}/${file}`, "utf8"));
  for (const one of cases) {
    const isLeftOut = [one.id, ...(one.tags ?? [])].some((name) => LEFT_OUT.includes(name));
    const wrong = isLeftOut ? [] : differences(metric, one);
    counts[isLeftOut ? "left_out" : "compared"]++;
    counts.failed += wrong.length > 0;
    if (wrong.length) console.log(`${one.id}: ${wrong.join(", ")}`);
  }
}
console.log(JSON.stringify(counts));
process.exitCode = counts.failed ? 1 : 0;
