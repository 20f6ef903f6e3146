// What the services of this example run: a web server that says who it is.
import { createServer } from "node:http"

const { FLEET_PROCESS: owner, GREETING: greeting = "hello", PORT: port } = process.env

const server = createServer((request, response) => {
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ greeting, path: request.url, pid: process.pid, owner }) + "\n")
})

server.listen(Number(port), "127.0.0.1", () => process.stdout.write(`pid ${process.pid} listens on ${port}\n`))

// Ends when asked to, once what is under way is answered.
process.once("SIGTERM", () => {
  process.stdout.write(`pid ${process.pid} ends\n`)
  server.close()
  server.closeIdleConnections()
})
