// Asks one XRPC server; anything but success is an error that says what was asked and what came back.

const ADMIN = `Basic ${Buffer.from('admin:admin-pass').toString('base64')}`

export function client(base, bypass) {
  const send = async (method, body, type, authorization) => {
    const headers = body === undefined ? {} : { 'content-type': type }
    if (authorization) headers.authorization = authorization
    if (bypass) headers['x-ratelimit-bypass'] = bypass
    const answer = await fetch(`${base}/xrpc/${method}`, { method: 'POST', headers, body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} answered ${answer.status}: ${text.slice(0, 500)}`)
    return text ? JSON.parse(text) : {}
  }
  const bearer = (token) => token && `Bearer ${token}`
  const ask = (method, input, token) => send(method, JSON.stringify(input), 'application/json', bearer(token))
  ask.asAdmin = (method, input) => send(method, JSON.stringify(input), 'application/json', ADMIN)
  ask.upload = async (bytes, type, token) => (await send('com.atproto.repo.uploadBlob', bytes, type, bearer(token))).blob
  return ask
}
