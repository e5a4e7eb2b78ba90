// The smallest picture there is: one pixel of a colour, as PNG.
import { crc32, deflateSync } from 'node:zlib'

export function png(colour) {
  const chunk = (name, body) => {
    const named = Buffer.concat([Buffer.from(name), body])
    const whole = Buffer.alloc(8 + named.length)
    whole.writeUInt32BE(body.length)
    named.copy(whole, 4)
    whole.writeUInt32BE(crc32(named), 4 + named.length)
    return whole
  }
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0])
  const pixel = Buffer.from([0, colour >> 16, (colour >> 8) & 255, colour & 255])
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(pixel)), chunk('IEND', Buffer.alloc(0))])
}
