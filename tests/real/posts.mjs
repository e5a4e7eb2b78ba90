// Posts of every shape: words with mentions, links and hashtags, pictures, films, replies, quotes, labels.
import { claimed } from './times.mjs'

const TAGS = ['bower', 'Birds', 'naïve', '青い鳥', 'crisis2026', 'PT_pt']
const LANGUAGES = [['en'], ['pt', 'en'], ['ja'], undefined, undefined]
const LABELS = ['porn', 'graphic-media', 'bot']

export async function compose(filling, person, at, earlier) {
  const { random } = filling
  const record = { $type: 'app.bsky.feed.post', ...words(random, filling.people), createdAt: claimed(random, at) }
  const langs = random.pick(LANGUAGES)
  if (langs) record.langs = langs
  if (random.happens(0.05)) record.tags = ['Unseen', random.pick(TAGS)]
  if (random.happens(0.04)) {
    record.labels = { $type: 'com.atproto.label.defs#selfLabels', values: [{ val: random.pick(LABELS) }] }
  }
  if (earlier.length && random.happens(0.3)) record.reply = reply(random.pick(earlier))
  const embed = await embedded(filling, person, earlier)
  if (embed) record.embed = embed
  return record
}

const reply = (parent) => ({ root: bare(parent.root), parent: bare(parent) })
const bare = ({ uri, cid }) => ({ uri, cid })

// The places of facets count bytes of UTF-8.
function words(random, people) {
  const facets = []
  let text = random.sentence(random.between(1, 8))
  const add = (shown, feature) => {
    const byteStart = Buffer.byteLength(`${text} `)
    text += ` ${shown}`
    facets.push({ index: { byteStart, byteEnd: byteStart + Buffer.byteLength(shown) }, features: [feature] })
  }
  for (let count = random.between(-1, 2); count > 0; count--) {
    const tag = random.pick(TAGS)
    add(`#${tag}`, { $type: 'app.bsky.richtext.facet#tag', tag })
  }
  for (let count = random.between(-2, 2); count > 0; count--) {
    const { did, handle } = random.pick(people)
    add(`@${handle}`, { $type: 'app.bsky.richtext.facet#mention', did })
  }
  if (random.happens(0.15)) {
    const uri = `https://example.test/${random.between(1, 50)}?a=1&b=ü`
    add('example.test/…', { $type: 'app.bsky.richtext.facet#link', uri })
  }
  return facets.length ? { text, facets } : { text: random.happens(0.05) ? '' : `${text}\n\nlast line` }
}

async function embedded(filling, person, earlier) {
  const { random } = filling
  const share = random.next()
  if (share < 0.08) return { $type: 'app.bsky.embed.images', images: await images(filling, person) }
  if (share < 0.09) return { $type: 'app.bsky.embed.video', video: await filling.film(person), alt: 'a film' }
  if (share < 0.14) {
    const external = { uri: `https://news.example.test/${random.between(1, 9)}`, title: 'News', description: 'of birds' }
    return { $type: 'app.bsky.embed.external', external }
  }
  if (share < 0.15) return { $type: 'app.bsky.embed.record', record: filling.list }
  if (!earlier.length || share > 0.27) return undefined
  const record = { $type: 'app.bsky.embed.record', record: bare(random.pick(earlier)) }
  if (share < 0.25) return record
  const media = { $type: 'app.bsky.embed.images', images: await images(filling, person) }
  return { $type: 'app.bsky.embed.recordWithMedia', record, media }
}

async function images(filling, person) {
  const { random } = filling
  const pictures = []
  for (let count = random.between(1, 4); count > 0; count--) {
    const alt = random.happens(0.7) ? random.sentence(4) : ''
    pictures.push({ image: await filling.picture(person), alt })
  }
  return pictures
}
