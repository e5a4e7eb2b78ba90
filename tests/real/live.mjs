// People go on living while somebody listens: they write, rewrite and take back, come, go and return.
import { setTimeout as pause } from 'node:timers/promises'

import { chance } from './chance.mjs'
import { FOLLOW, POST, PROFILE } from './fill.mjs'
import { compose } from './posts.mjs'

// Two readers and whoever the other scenes log in as stay as they are.
const SETTLED = 5
const BREATH = 15
// How often each thing happens in one round; every round does everything, in an order of its own.
const ROUND = {
  posts: 12,
  reactions: 8,
  follow: 4,
  unfollow: 4,
  waver: 2,
  exchange: 2,
  regret: 4,
  rewrite: 2,
  introduce: 3,
  rename: 1,
  arrive: 2,
  leave: 1,
  takeDown: 1,
  vanish: 1,
  comeBack: 2,
}

export class Living {
  constructor(filling) {
    this.filling = filling
    this.random = chance(filling.settings.seed + 1)
    this.arrived = 0
  }

  begin() {
    this.isEnding = false
    this.failure = null
    this.life = this.live().catch((error) => (this.failure = error))
  }

  // What happened in all, once nobody writes any more.
  async end() {
    this.isEnding = true
    await this.life
    if (this.failure) throw this.failure
    return this.filling.written()
  }

  async live() {
    const every = Object.entries(ROUND).flatMap(([act, times]) => Array(times).fill(act))
    do {
      for (const act of this.random.sample(every, every.length)) {
        await this[act]()
        await pause(BREATH)
      }
    } while (!this.isEnding)
    // Whatever chance decided, there is one of each in the end.
    await this.comeBack()
    for (const fate of ['deactivated', 'takendown', 'deleted']) {
      await this.arrive()
      await this.goes(fate)
    }
  }

  // A few honest posts, now; answers what was written.
  async speak() {
    const { filling } = this
    const before = filling.records.length
    for (const person of this.writers.slice(0, 4)) {
      const record = { $type: POST, text: 'is anybody there?', createdAt: new Date().toISOString() }
      await filling.write(person, [{ collection: POST, rkey: filling.key(person), record }])
    }
    return filling.records.slice(before)
  }

  get writers() {
    return this.filling.lasting
  }

  get visitors() {
    return this.writers.filter(({ isVisitor }) => isVisitor)
  }

  own(person, ...collections) {
    const { records, deleted } = this.filling
    const gone = new Set(deleted)
    const places = collections.map((collection) => `at://${person.did}/${collection}/`)
    // Nobody touches again what was written before an absence: to a stream alone it is lost.
    return records.filter(({ uri }, place) => place >= person.back && places.some((each) => uri.startsWith(each)) && !gone.has(uri))
  }

  async posts() {
    const person = this.random.pick(this.writers)
    await this.say(person, this.random.between(1, 6))
  }

  async say(person, count) {
    const { filling } = this
    const earlier = this.random.sample(filling.plots.slice(-200), 20)
    const writes = []
    for (let number = 0; number < count; number++) {
      const at = Date.now() + number
      writes.push({ collection: POST, rkey: filling.key(person, at), record: await compose(filling, person, at, earlier) })
    }
    await filling.post(person, writes)
  }

  async reactions() {
    const { filling, random } = this
    const person = random.pick(this.writers)
    const collection = random.pick(['app.bsky.feed.repost', 'app.bsky.feed.like'])
    const writes = random.sample(filling.plots.slice(-200), random.between(1, 4)).map(({ uri, cid }) => {
      const record = { $type: collection, subject: { uri, cid }, createdAt: new Date().toISOString() }
      return { collection, rkey: filling.key(person), record }
    })
    await filling.write(person, writes)
  }

  // A follow that is not there yet.
  bond(person) {
    const followed = new Set(this.filling.followed(person))
    const other = this.random.pick(this.writers)
    if (other === person || followed.has(other.did)) return null
    return this.filling.follow(person, other)
  }

  async follow() {
    const person = this.random.pick(this.writers)
    const bond = this.bond(person)
    if (bond) await this.filling.write(person, [bond])
  }

  async unfollow() {
    const person = this.random.pick(this.writers)
    await this.filling.remove(person, this.random.sample(this.own(person, FOLLOW), 1).map(({ uri }) => uri))
  }

  // Unfollows and follows the same account again, at once or a moment later.
  async waver() {
    const { filling, random } = this
    const person = random.pick(this.writers)
    const [bond] = random.sample(this.own(person, FOLLOW), 1)
    if (!bond) return
    const again = filling.follow(person, { did: bond.record.subject })
    if (random.happens(0.5)) return filling.exchange(person, [bond.uri], [again])
    await filling.remove(person, [bond.uri])
    await filling.write(person, [again])
  }

  // Takes one post back and writes another in the same commit.
  async exchange() {
    const { filling, random } = this
    const person = random.pick(this.writers)
    const old = random.sample(this.own(person, POST), 1).map(({ uri }) => uri)
    const record = await compose(filling, person, Date.now(), [])
    await filling.exchange(person, old, [{ collection: POST, rkey: filling.key(person), record }])
  }

  async regret() {
    const person = this.random.pick(this.writers)
    const own = this.own(person, POST, 'app.bsky.feed.repost', 'app.bsky.feed.like')
    await this.filling.remove(person, this.random.sample(own, 2).map(({ uri }) => uri))
  }

  async rewrite() {
    const person = this.random.pick(this.writers)
    const [post] = this.random.sample(this.own(person, POST), 1)
    if (!post) return
    const record = { ...post.record, text: `${post.record.text} (corrected)` }
    await this.filling.replace(person, POST, post.uri.split('/').at(-1), record)
  }

  async introduce(person = this.random.pick(this.writers)) {
    const known = this.filling.records.find(({ uri }) => uri === `at://${person.did}/${PROFILE}/self`)
    const words = { displayName: `${this.random.sentence(2)} 🐦`, description: this.random.sentence(6) }
    if (known) return this.filling.replace(person, PROFILE, 'self', { ...known.record, ...words })
    const record = { $type: PROFILE, ...words, createdAt: new Date().toISOString() }
    await this.filling.write(person, [{ collection: PROFILE, rkey: 'self', record }])
  }

  async rename() {
    const person = this.random.pick(this.writers.slice(SETTLED))
    await this.filling.rename(person, `also${this.random.between(0, 1e9)}.test`)
  }

  async arrive() {
    const person = await this.filling.arrive(`guest${this.arrived++}.test`, 'active')
    person.isVisitor = true
    await this.introduce(person)
    for (let count = this.random.between(1, 3); count > 0; count--) {
      const bond = this.bond(person)
      if (bond) await this.filling.write(person, [bond])
    }
    await this.say(person, this.random.between(1, 8))
  }

  async goes(fate) {
    const [person] = this.random.sample(this.visitors, 1)
    if (!person) return
    person.fate = fate
    await this.filling.meet(person)
  }

  leave() {
    return this.goes('deactivated')
  }

  takeDown() {
    return this.goes('takendown')
  }

  vanish() {
    return this.goes('deleted')
  }

  async comeBack() {
    const [person] = this.random.sample(this.filling.people.filter(({ fate }) => ['deactivated', 'takendown'].includes(fate)), 1)
    if (!person) return
    await this.filling.welcome(person)
    // A stream tells of what is new only, and after a takedown not even the handle.
    await this.filling.rename(person, `back${this.random.between(0, 1e9)}.test`)
    await this.introduce(person)
    await this.say(person, 2)
  }
}
