// Fills a network the way people do, only faster, and writes down every record as it was sent.
import { chance } from './chance.mjs'
import { client } from './client.mjs'
import { png } from './picture.mjs'
import { compose } from './posts.mjs'
import { tid, times } from './times.mjs'

export const POST = 'app.bsky.feed.post'
export const FOLLOW = 'app.bsky.graph.follow'
export const PROFILE = 'app.bsky.actor.profile'
const LIST = 'app.bsky.graph.list'
const CREATE = 'com.atproto.repo.applyWrites#create'
const DELETE = 'com.atproto.repo.applyWrites#delete'
const ROUNDS = 8
const BATCH = 150
// So few that the same picture stands in many posts.
const COLOURS = 60
const PASSWORD = 'a bower of one’s own'
// The last accounts are special; all others stay as they are.
const FATES = ['deactivated', 'takendown', 'deleted', 'shy']

export async function fill(settings) {
  const filling = new Filling(settings)
  await filling.accounts()
  await filling.follows()
  await filling.lists()
  for (let round = 0; round < ROUNDS; round++) await filling.posts(round)
  await filling.reactions()
  await filling.regrets()
  await filling.fates()
  return filling
}

export class Filling {
  constructor(settings) {
    this.settings = settings
    this.pds = client(settings.pds, settings.bypass)
    this.appview = client(settings.appview)
    this.random = chance(settings.seed)
    this.people = []
    this.records = []
    this.deleted = []
    this.plots = []
  }

  written() {
    const accounts = this.people.map(({ did, handle, fate, back, absences }) => ({ did, handle, fate, back, absences }))
    return { accounts, records: this.records, deleted: this.deleted, password: PASSWORD }
  }

  // Those who may be reached through others at the end.
  get lasting() {
    return this.people.filter((person) => person.fate === 'active')
  }

  async accounts() {
    const { accounts } = this.settings
    for (let number = 0; number < accounts; number++) {
      const fate = FATES[number - (accounts - FATES.length)] ?? 'active'
      const person = await this.arrive(`bird${String(number).padStart(3, '0')}.test`, fate)
      // One account never says anything about itself.
      if (number !== 1) await this.profile(person, number)
    }
    await this.rename(this.people[2], 'renamed.test')
  }

  async arrive(handle, fate) {
    const account = { handle, email: `${handle}@example.test`, password: PASSWORD }
    const made = await this.pds('com.atproto.server.createAccount', account)
    // `back`: how many records there were when it last came back from an absence.
    const person = { did: made.did, handle, fate, token: made.accessJwt, keys: new Set(), back: 0, absences: 0 }
    this.people.push(person)
    return person
  }

  async rename(person, handle) {
    await this.pds('com.atproto.identity.updateHandle', { handle }, person.token)
    person.handle = handle
  }

  async profile(person, number) {
    const record = { $type: PROFILE, displayName: `Bird ${number} 🐦`, createdAt: new Date().toISOString() }
    record.description = this.random.sentence(12) + '\nsecond line <b>&amp;</b>'
    if (number % 4 === 0) record.avatar = await this.picture(person)
    if (person.fate === 'shy') {
      record.labels = { $type: 'com.atproto.label.defs#selfLabels', values: [{ val: '!no-unauthenticated' }] }
    }
    const first = { ...record, displayName: 'not decided yet' }
    await this.write(person, [{ collection: PROFILE, rkey: 'self', record: number % 5 ? record : first }])
    if (number % 5 === 0) await this.replace(person, PROFILE, 'self', record)
  }

  async follows() {
    const circle = this.lasting
    for (const [number, person] of this.people.entries()) {
      // A ring of those who stay: whoever starts anywhere comes to everyone.
      const chosen = new Set(this.random.sample(this.people, this.random.between(2, 18)))
      const place = circle.indexOf(person)
      if (place >= 0) chosen.add(circle[(place + 1) % circle.length])
      // More than one page of followers or followed accounts, whatever the page size of the crawl.
      if (number < 3) this.people.forEach((other) => chosen.add(other))
      chosen.delete(person)
      await this.write(person, [...chosen].map((other) => this.follow(person, other)))
    }
  }

  follow(person, { did: subject }) {
    const record = { $type: FOLLOW, subject, createdAt: new Date().toISOString() }
    return { collection: FOLLOW, rkey: this.key(person), record }
  }

  // Whom somebody follows by now.
  followed({ did }) {
    const gone = new Set(this.deleted)
    const own = this.records.filter(({ uri }) => uri.startsWith(`at://${did}/${FOLLOW}/`) && !gone.has(uri))
    return own.map(({ record }) => record.subject)
  }

  async lists() {
    const [owner] = this.people
    const purpose = 'app.bsky.graph.defs#curatelist'
    const record = { $type: LIST, name: 'birds', purpose, createdAt: new Date().toISOString() }
    const [made] = await this.write(owner, [{ collection: LIST, rkey: this.key(owner), record }])
    this.list = made
  }

  // Each round answers and quotes posts of earlier rounds, so threads grow deep.
  async posts(round) {
    const earlier = [...this.plots]
    const weight = this.people.reduce((sum, _, number) => sum + 1 / (number + 1), 0)
    for (const [number, person] of this.people.entries()) {
      // One account never posts.
      const most = number === 3 ? 0 : Math.ceil(this.settings.posts / ROUNDS / weight / (number + 1))
      const writes = []
      for (const at of times(this.random, round, ROUNDS, most)) {
        const record = await compose(this, person, at, earlier)
        writes.push({ collection: POST, rkey: this.key(person, at), record })
      }
      await this.post(person, writes)
    }
  }

  // Posts that others may answer, quote and pass on.
  async post(person, writes) {
    const refs = await this.write(person, writes)
    refs.forEach((ref, index) => this.plots.push({ ...ref, author: person, root: writes[index].record.reply?.root ?? ref }))
  }

  async reactions() {
    for (const person of this.people) {
      for (const collection of ['app.bsky.feed.repost', 'app.bsky.feed.like']) {
        const subjects = this.random.sample(this.plots, this.random.between(0, collection.endsWith('like') ? 60 : 25))
        // An AppView does not show the record of a repost, only its key: both tell the same time here.
        const start = Date.now()
        const writes = subjects.map(({ uri, cid }, index) => {
          const at = start - index
          const record = { $type: collection, subject: { uri, cid }, createdAt: new Date(at).toISOString() }
          return { collection, rkey: this.key(person, at), record }
        })
        await this.write(person, writes)
      }
    }
  }

  // What people take back: posts, reposts, likes and follows.
  async regrets() {
    const ring = this.lasting
    const next = new Map(ring.map((person, place) => [person.did, ring[(place + 1) % ring.length].did]))
    for (const person of this.people) {
      const places = [`at://${person.did}/app.bsky.feed.`, `at://${person.did}/${FOLLOW}/`]
      const own = this.records.filter(({ uri }) => places.some((place) => uri.startsWith(place)))
      const kept = own.filter(({ record }) => !record.subject || record.subject !== next.get(person.did))
      const gone = this.random.sample(kept, Math.floor(kept.length / 20))
      await this.remove(person, gone.map(({ uri }) => uri))
    }
  }

  async fates() {
    for (const person of this.people) await this.meet(person)
  }

  async meet(person) {
    if (['deactivated', 'takendown', 'deleted'].includes(person.fate)) person.absences += 1
    if (person.fate === 'deactivated') await this.pds('com.atproto.server.deactivateAccount', {}, person.token)
    if (person.fate === 'takendown') await this.takeDown(person, true)
    if (person.fate === 'deleted') await this.pds.asAdmin('com.atproto.admin.deleteAccount', { did: person.did })
  }

  // Ends an absence.
  async welcome(person) {
    if (person.fate === 'deactivated') await this.pds('com.atproto.server.activateAccount', undefined, person.token)
    else await this.takeDown(person, false)
    person.fate = 'active'
    person.back = this.records.length
  }

  async takeDown({ did }, applied) {
    const subject = { $type: 'com.atproto.admin.defs#repoRef', did }
    const order = { subject, takedown: applied ? { applied, ref: 'test' } : { applied } }
    // As the moderation service does it: at the AppView and at the host.
    await this.appview.asAdmin('com.atproto.admin.updateSubjectStatus', order)
    await this.pds.asAdmin('com.atproto.admin.updateSubjectStatus', order)
  }

  // A record key that tells the time, never the same twice in one repository.
  key(person, at = Date.now()) {
    let wanted = at * 1000
    while (person.keys.has(wanted)) wanted += 1
    person.keys.add(wanted)
    return tid(wanted)
  }

  async write(person, writes) {
    const refs = []
    for (let start = 0; start < writes.length; start += BATCH) {
      refs.push(...(await this.exchange(person, [], writes.slice(start, start + BATCH))))
    }
    return refs
  }

  // Deletes and creates in one commit.
  async exchange(person, uris, writes) {
    const deletes = uris.map(deletion)
    const creates = writes.map(({ collection, rkey, record: value }) => ({ $type: CREATE, collection, rkey, value }))
    const commit = { repo: person.did, writes: [...deletes, ...creates] }
    const { results } = await this.pds('com.atproto.repo.applyWrites', commit, person.token)
    const made = results.slice(uris.length)
    made.forEach(({ uri, cid }, index) => this.records.push({ uri, cid, record: writes[index].record }))
    this.deleted.push(...uris)
    return made.map(({ uri, cid }) => ({ uri, cid }))
  }

  async replace(person, collection, rkey, record) {
    const write = { repo: person.did, collection, rkey, record }
    const { uri, cid } = await this.pds('com.atproto.repo.putRecord', write, person.token)
    Object.assign(this.records.find((each) => each.uri === uri), { cid, record })
  }

  async remove(person, uris) {
    for (let start = 0; start < uris.length; start += BATCH) {
      await this.exchange(person, uris.slice(start, start + BATCH), [])
    }
  }

  async picture(person) {
    return this.pds.upload(png(this.random.between(0, COLOURS)), 'image/png', person.token)
  }

  // No server plays it: the bytes need not be a film.
  async film(person) {
    return this.pds.upload(Buffer.from(`film ${this.random.between(0, 0xffffff)}`), 'video/mp4', person.token)
  }
}

function deletion(uri) {
  const [, , , collection, rkey] = uri.split('/')
  return { $type: DELETE, collection, rkey }
}
