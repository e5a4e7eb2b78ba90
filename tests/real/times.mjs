// When posts were written, and record keys that tell it.

const DIGITS = '234567abcdefghijklmnopqrstuvwxyz'
const DAY = 86_400_000
const SPAN = 60 * DAY

export function tid(micros, clock = 7n) {
  let number = (BigInt(micros) << 10n) | clock
  let text = ''
  for (let place = 0; place < 13; place++) {
    text = DIGITS[Number(number & 31n)] + text
    number >>= 5n
  }
  return text
}

// Milliseconds within one of equally long parts of the last sixty days, in order.
export function times(random, part, parts, count) {
  const start = Date.now() - SPAN + (part * SPAN) / parts
  const length = SPAN / parts - 60_000
  return Array.from({ length: count }, () => Math.floor(start + random.next() * length)).sort((one, other) => one - other)
}

// A claimed time in the spellings that software uses; now and then one that cannot be true.
export function claimed(random, at) {
  const iso = new Date(at).toISOString()
  const style = random.between(0, 40)
  if (style === 0) return '2035-05-06T07:08:09.123Z'
  if (style === 1) return '2001-02-03T04:05:06.789Z'
  if (style < 5) return iso.replace('Z', '456Z')
  if (style < 8) return new Date(at + 2 * 3_600_000).toISOString().replace('Z', '+02:00')
  if (style < 10) return iso.replace(/\.\d+Z/, 'Z')
  return iso
}
