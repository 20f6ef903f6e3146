import { assert, describe, it } from "@effect/vitest"
import { Resource } from "setpoint"

const text = (name: string, namespace?: string) =>
  JSON.stringify({
    apiVersion: "example.dev/v1",
    kind: "Website",
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: "1",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { "app.kubernetes.io/name": "website", "app.kubernetes.io/instance": name }
    },
    spec: { host: name }
  })

const decoded = (text: string): Resource.Raw => JSON.parse(text)

describe("Resource", () => {
  describe("sharing", () => {
    it("changes no value of an object", () => {
      const share = Resource.sharing()
      for (const object of [text("a", "default"), text("b", "default"), text("c"), text("a", "default")]) {
        assert.deepStrictEqual(share(decoded(object)), decoded(object))
      }
    })

    it("takes objects without times, labels and namespace", () => {
      const bare = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"1","resourceVersion":"1"}}`
      assert.deepStrictEqual(Resource.sharing()(decoded(bare)), decoded(bare))
    })

    it("goes on when there are more texts than it keeps", () => {
      const share = Resource.sharing()
      for (let i = 0; i < 10_000; i++) {
        assert.strictEqual(share(decoded(text("a", `ns-${i}`))).metadata.namespace, `ns-${i}`)
      }
    })
  })
})
