// A real Bluesky network (PLC directory, PDS, AppView, moderation) on loopback, filled with accounts and posts.
//
//   node network.mjs '{"modules": FOLDER, "postgres": URL, "seed": 1, "accounts": 40, "posts": 1500}'
//
// Speaks lines of JSON: first {"ready": …addresses}, then one answer for each command read from standard input. The end of the
// input ends the network, so it never outlives whoever started it.
import { createRequire } from 'node:module'
import net from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

import { fill } from './fill.mjs'
import { Living } from './live.mjs'

const settings = JSON.parse(process.argv[2])
const found = createRequire(join(settings.modules, 'package.json'))
const load = (name) => import(pathToFileURL(found.resolve(name)))
const BYPASS = 'the filling counts against no limit'

// The servers of the packages listen on every address of the machine unless told otherwise, and most cannot be told.
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...given) {
  const [first] = given
  const where = typeof first === 'object' ? { ...first, host: '127.0.0.1' } : { port: first, host: '127.0.0.1' }
  return listen.call(this, where, given.findLast((each) => typeof each === 'function'))
}

const { RateLimiterMemory } = found('rate-limiter-flexible')
const consume = RateLimiterMemory.prototype.consume
let window = null
RateLimiterMemory.prototype.consume = function (key, points, options) {
  if (window === null || !this.keyPrefix.includes('global-ip')) return consume.call(this, key, points, options)
  this.points = window.points
  this.duration = window.seconds
  return consume.call(this, `${key} ${window.number}`, points, options)
}

// Some PostgreSQL servers come without contrib modules; the trigrams only speed up the search for accounts.
const { Client } = createRequire(found.resolve('@atproto/bsky'))('pg')
const query = Client.prototype.query
Client.prototype.query = function (statement, ...more) {
  const isAboutTrigrams = /pg_trgm with schema|gist_trgm_ops/.test(statement?.text ?? statement)
  return query.call(this, isAboutTrigrams ? 'select 1' : statement, ...more)
}

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)

const { TestNetwork } = await load('@atproto/dev-env')
const network = await TestNetwork.create({
  dbPostgresUrl: settings.postgres,
  dbPostgresSchema: 'real',
  pds: { hostname: 'localhost', rateLimitsEnabled: true, rateLimitBypassKey: BYPASS },
  bsky: {},
})
const addresses = {
  pds: `http://127.0.0.1:${network.pds.port}`,
  appview: `http://127.0.0.1:${network.bsky.port}`,
  plc: `http://127.0.0.1:${network.plc.port}`,
}

let living = null
const { sequencer } = network.pds.ctx

const commands = {
  // Writes everything, waits until the AppView has it, and answers what was written.
  async fill() {
    const filling = await fill({ ...settings, ...addresses, bypass: BYPASS })
    living = new Living(filling)
    await network.processAll(120_000)
    await network.bsky.sub.background.processAll()
    return filling.written()
  },
  // From now on people write by themselves, until `rest`, which answers everything that was ever written.
  async live() {
    living.begin()
    return {}
  },
  async rest() {
    const written = await living.end()
    return { written, head: await sequencer.curr(), events: (await sequencer.requestSeqRange({})).length }
  },
  // A few posts, and the number of the last event they made.
  async speak() {
    return { records: await living.speak(), head: await sequencer.curr() }
  },
  async written() {
    return living.filling.written()
  },
  // How far back the firehose reaches, for connections from now on.
  async forget({ millis }) {
    network.pds.ctx.cfg.subscription.repoBackfillLimitMs = millis
    return millis
  },
  // Shorter windows for the limit per address, from now on and with a clean slate: nobody wants to wait five minutes.
  async limit({ points, seconds }) {
    window = { points, seconds, number: (window?.number ?? 0) + 1 }
    return window
  },
}

say({ ready: addresses })
for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...given } = JSON.parse(line)
  try {
    say({ done: await commands[command](given) })
  } catch (error) {
    say({ failed: `${command}: ${error.stack}` })
  }
}
// Not network.close(): everything is thrown away, and a stubborn connection must not keep the process alive.
process.exit(0)
