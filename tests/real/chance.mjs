// Pseudo-random choices that are the same for the same seed.

const PLAIN = 'bower satin blue feather moss twig shell berry <b> & "quoted"'
const FOREIGN = 'naïve façade Übergröße São Καλημέρα мир 青い鳥 새 عصفور 🐦 👩‍👩‍👧 🇵🇹'
const WORDS = `${PLAIN} ${FOREIGN}`.split(' ')

export function chance(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  // Both ends included.
  const between = (low, high) => low + Math.floor(next() * (high - low + 1))
  const pick = (list) => list[between(0, list.length - 1)]
  const sample = (list, most) => {
    const rest = [...list]
    const taken = []
    while (taken.length < most && rest.length) taken.push(...rest.splice(between(0, rest.length - 1), 1))
    return taken
  }
  const sentence = (words) => Array.from({ length: words }, () => pick(WORDS)).join(' ')
  return { next, between, pick, sample, sentence, happens: (share) => next() < share }
}
