/** A user's first lines, against the packed package: a kind, its inferred type, and an object that is decoded. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as assert from "node:assert/strict"
import { Kind } from "setpoint"
import { make } from "setpoint/Kind"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String })
})
assert.equal(Website.address.plural, "websites")
assert.equal(make, Kind.make)

const host = (site: Kind.Resource<typeof Website>): string => site.spec.host
const metadata = {
  name: "a",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: ""
}
const decoded = Website.decode({
  apiVersion: "example.dev/v1",
  kind: "Website",
  metadata,
  spec: { host: "example.org" }
})
assert.equal(Result.isSuccess(decoded) && host(decoded.success), "example.org")
console.log("A kind is made and an object decoded.")
