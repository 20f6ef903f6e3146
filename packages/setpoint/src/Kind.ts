/**
 * Kinds: what objects of one sort look like, declared with Schema.
 *
 * A kind has a group, a version, a name, a plural, a scope, and any top-level fields; `spec` and `status` are short for
 * the usual two. *Desired state* is every top-level field but apiVersion, kind, metadata and status.
 *
 * One version of a kind is stored. Others are views of it ({@link served}): their objects are converted when they are
 * read and written, while drivers and caches hold the stored version only.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type * as SchemaTransformation from "effect/SchemaTransformation"
import type * as Types from "effect/Types"
import { fromUnknown, isObject } from "./internal/json.ts"
import * as jsonSchema from "./internal/jsonSchema.ts"
import * as names from "./internal/names.ts"
import * as PlainCheck from "./internal/plainCheck.ts"
import { type Any, groupKind, type Json, type Metadata, type MetadataInput, type Raw } from "./Resource.ts"
import { DecodeError, type Field, Invalid } from "./StoreError.ts"

const TypeId = "~setpoint/Kind"

/**
 * Where the objects of a kind are: `version` is the stored one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Address {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Namespaced" | "Cluster"
}

/**
 * A kind whatever the type of its objects: what lists of kinds hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnyKind {
  readonly address: Address
  /** `group/version` of this served version: what its objects carry. */
  readonly apiVersion: string
  /** `Website.example.dev`, without version: identifies the kind in keys, metrics and messages. */
  readonly groupKind: string
  /** Declared top-level fields, status included. */
  readonly fields: ReadonlyArray<string>
  /** Whether status is declared: `create` and `update` then leave it alone. */
  readonly hasStatus: boolean
  /** Fields of status by name, where its Schema is a Struct: the engine echoes into those of its own that are declared. */
  readonly statusFields: ReadonlyArray<string>
  /**
   * Whether a stored object that decodes *is* the typed object: the Schema has no transformation and no default, so
   * nothing is copied and unknown fields stay.
   */
  readonly plain: boolean
  /** The declared fields: stored JSON to typed fields. */
  readonly codec: Schema.Codec<unknown, unknown>
  /** A stored object as typed object. */
  readonly decode: (raw: Raw) => Result.Result<Any, DecodeError>
}

/**
 * A kind whose objects have type `A`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kind<in out A extends Any> extends AnyKind {
  readonly [TypeId]: Types.Invariant<A>
  readonly decode: (raw: Raw) => Result.Result<A, DecodeError>
  /** A typed object in stored form: only the declared fields, without those that the Schema does not know. */
  readonly encode: (object: A) => Result.Result<Raw, Invalid>
  /** As {@link encode}, without the defaults of a JSON Schema that the object does not have: what an applier sets (S11). */
  readonly encodeSparse: (object: A) => Result.Result<Raw, Invalid>
  /** A manifest's declared fields in this served version's wire form, as typed fields; unknown fields are left out. */
  readonly decodeManifest: (manifest: object) => Result.Result<Input<A>, Invalid>
}

/**
 * The type of a kind's objects: `Kind.Resource<typeof Website>`.
 *
 * @category type helpers
 * @since 0.1.0
 */
export type Resource<K> = K extends Kind<infer A> ? A : never

/**
 * What creates an object: the declared fields and the metadata that is the user's to set.
 *
 * @category type helpers
 * @since 0.1.0
 */
export type Input<A extends Any> =
  & Omit<A, "apiVersion" | "kind" | "metadata">
  & { readonly apiVersion?: string | undefined; readonly kind?: string | undefined; readonly metadata: MetadataInput }

/**
 * The status of a kind's objects; `never` where none is declared. Of a kind from data ({@link fromJsonSchema}) it is
 * JSON, which its schema judges when it is written.
 *
 * @category type helpers
 * @since 0.1.0
 */
export type Status<A extends Any> = string extends keyof A ? Json
  : A extends { readonly status?: infer S | undefined } ? S
  : never

/** A Schema that needs no services. */
type PureCodec = Schema.Codec<unknown, unknown>

type FieldSchemas = { readonly [name: string]: PureCodec }

type Declared<Spec, Status, Fields extends FieldSchemas> =
  & ([Spec] extends [PureCodec] ? { readonly spec: Spec["Type"] } : unknown)
  & ([Status] extends [PureCodec] ? { readonly status?: Status["Type"] | undefined } : unknown)
  & Schema.Struct.Type<Fields>

/**
 * The object type that a declaration infers.
 *
 * @category type helpers
 * @since 0.1.0
 */
export type Of<Name extends string, Spec, Status, Fields extends FieldSchemas> =
  & { readonly apiVersion: string; readonly kind: Name; readonly metadata: Metadata }
  & Types.Simplify<Declared<Spec, Status, Fields>>

/**
 * What {@link make} takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Name extends string, Spec, Status, Fields> {
  /** A DNS name such as `example.dev`; `""` is the core group. */
  readonly group: string
  /** `v1`, `v1beta1`, … */
  readonly version: string
  /** `Website`: upper camel case. */
  readonly kind: Name
  /** Default: derived from `kind` by Kubernetes' rule (`Policy` gives `policies`). */
  readonly plural?: string | undefined
  /** Default `"Namespaced"`. */
  readonly scope?: "Namespaced" | "Cluster" | undefined
  readonly spec?: Spec
  readonly status?: Status
  /** Further top-level fields, or all of them for kinds without a spec (`data`, `rules`, …). */
  readonly fields?: Fields
}

/**
 * A declaration that breaks a rule: which field of it, and what would be right. Thrown by {@link make}, since a kind is
 * declared once, when the program starts; a failure of {@link fromJsonSchema}.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidKind extends Schema.TaggedError<InvalidKind>()("InvalidKind", {
  kind: Schema.String,
  field: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `kind ${this.kind}, ${this.field}: ${this.why}`
  }
}

const reserved = new Set(["apiVersion", "kind", "metadata", "status"])

/**
 * Declares a kind.
 *
 * Throws {@link InvalidKind} where a name breaks Kubernetes' rules.
 *
 * @example
 * ```ts
 * import * as Schema from "effect/Schema"
 * import { Kind } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
 *   status: Schema.Struct({ ready: Schema.Int })
 * })
 *
 * type Website = Kind.Resource<typeof Website> // has .spec.host, .status?.ready, .metadata.name
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  const Name extends string,
  Spec extends PureCodec | undefined = undefined,
  Status extends PureCodec | undefined = undefined,
  Fields extends FieldSchemas = {}
>(options: Options<Name, Spec, Status, Fields>): Kind<Of<Name, Spec, Status, Fields>> => {
  const codec = fieldsCodec(options)
  return fromCodecs(
    addressOf(options),
    options,
    declaredFields(options),
    statusFieldsOf(options.status),
    false,
    codec,
    codec
  )
}

/**
 * What {@link served} takes: the other version's fields and how they convert.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServedOptions<Stored extends Any, Spec, Status, Fields extends FieldSchemas> {
  readonly version: string
  readonly spec?: Spec
  readonly status?: Status
  readonly fields?: Fields
  /** Decodes the stored version's fields into this version's, and encodes them back. */
  readonly conversion: SchemaTransformation.Transformation<
    Types.Simplify<Declared<Spec, Status, Fields>>,
    Types.Simplify<Omit<Stored, keyof Any>>
  >
}

/**
 * Another served version of a kind: a view of the stored one, converted when read and written. Both are the same
 * objects, with one uid and one revision; they share keys, watches and caches.
 *
 * @example
 * ```ts
 * import * as Schema from "effect/Schema"
 * import * as SchemaTransformation from "effect/SchemaTransformation"
 * import { Kind } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v2",
 *   kind: "Website",
 *   spec: Schema.Struct({ hosts: Schema.Array(Schema.String) })
 * })
 *
 * const WebsiteV1 = Kind.served(Website, {
 *   version: "v1",
 *   spec: Schema.Struct({ host: Schema.String }),
 *   conversion: SchemaTransformation.transform({
 *     decode: (stored) => ({ spec: { host: stored.spec.hosts[0] ?? "" } }),
 *     encode: (view) => ({ spec: { hosts: [view.spec.host] } })
 *   })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const served = <
  Stored extends Any,
  Spec extends PureCodec | undefined = undefined,
  Status extends PureCodec | undefined = undefined,
  Fields extends FieldSchemas = {}
>(
  stored: Kind<Stored>,
  options: ServedOptions<Stored, Spec, Status, Fields>
): Kind<Of<Stored["kind"], Spec, Status, Fields>> => {
  const wire = fieldsCodec({ kind: stored.address.kind, ...options })
  // The typed boundary is ServedOptions: inside, both sides are records of declared fields.
  const conversion = options.conversion as unknown as SchemaTransformation.Transformation<
    { readonly [name: string]: unknown },
    unknown
  >
  const codec: PureCodec = stored.codec.pipe(Schema.decodeTo(Schema.toType(wire), conversion))
  return fromCodecs(
    stored.address,
    options,
    declaredFields(options),
    statusFieldsOf(options.status),
    false,
    wire,
    codec
  )
}

/**
 * What {@link fromJsonSchema} takes: a kind as data, as a CustomResourceDefinition has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface JsonSchemaOptions {
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Default: derived from `kind`. */
  readonly plural?: string | undefined
  /** Default `"Namespaced"`. */
  readonly scope?: "Namespaced" | "Cluster" | undefined
  /** JSON Schema (2020-12) or OpenAPI v3 schema of the whole object; its `properties` are the declared fields. */
  readonly schema: Json
  /** Whether status is written apart. Default: whether the schema has a property `status`. */
  readonly hasStatus?: boolean | undefined
}

/**
 * A kind from data, for kinds that are not known when the program is compiled. Its objects are plain JSON; defaults of the
 * schema are stored at write, fields that it does not know stay.
 *
 * Fails with {@link InvalidKind} where a name breaks a rule or the document is no schema: `field` is the path in it.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Kind } from "setpoint"
 *
 * const Widget = Effect.fromResult(Kind.fromJsonSchema({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Widget",
 *   schema: {
 *     type: "object",
 *     properties: { spec: { type: "object", properties: { size: { type: "integer", default: 1 } } } }
 *   }
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromJsonSchema = (options: JsonSchemaOptions): Result.Result<Kind<Raw>, InvalidKind> => {
  const codec = jsonSchema.fromJsonSchema(options.schema)
  if (Result.isFailure(codec)) {
    const { path, reason } = codec.failure
    return Result.fail(new InvalidKind({ kind: options.kind, field: `schema${path}`, why: reason }))
  }
  const properties = propertiesOf(options.schema).filter((name) => !objectFields.has(name))
  const hasStatus = options.hasStatus ?? properties.includes("status")
  return Result.try({
    try: () => {
      const address = addressOf({ ...options, fields: {} })
      const statusFields = hasStatus ? propertiesOf(propertyOf(options.schema, "status")) : undefined
      return fromCodecs<Raw>(address, options, properties, statusFields, true, codec.success, codec.success)
    },
    catch: (error) =>
      error instanceof InvalidKind ? error : new InvalidKind({ kind: options.kind, field: "", why: String(error) })
  })
}

const objectFields = new Set(["apiVersion", "kind", "metadata"])

const propertiesOf = (schema: Json | undefined): ReadonlyArray<string> => {
  const properties = isObject(schema) ? schema["properties"] : undefined
  return isObject(properties) ? Object.keys(properties) : []
}

const propertyOf = (schema: Json, name: string): Json | undefined => {
  const properties = isObject(schema) ? schema["properties"] : undefined
  return isObject(properties) ? properties[name] : undefined
}

const addressOf = (options: Options<string, unknown, unknown, FieldSchemas>): Address => {
  const address: Address = {
    group: options.group,
    version: options.version,
    kind: options.kind,
    plural: options.plural ?? names.pluralOf(options.kind),
    scope: options.scope ?? "Namespaced"
  }
  const check = (field: string, why: string | undefined) => {
    if (why !== undefined) throw new InvalidKind({ kind: options.kind, field, why })
  }
  check("group", names.checkGroup(address.group))
  check("version", names.checkVersion(address.version))
  check("kind", names.checkKind(address.kind))
  check("plural", names.checkPlural(address.plural))
  for (const field of Object.keys(options.fields ?? {})) {
    check(`fields.${field}`, reserved.has(field) ? "is a name of every object; choose another" : undefined)
  }
  return address
}

const fieldsCodec = (options: {
  readonly kind: string
  readonly spec?: unknown
  readonly status?: unknown
  readonly fields?: FieldSchemas | undefined
}): Schema.Codec<{ readonly [name: string]: unknown }, unknown> => {
  const fields: { [name: string]: Schema.Codec<unknown, unknown> | Schema.optional<PureCodec> } = { ...options.fields }
  for (const name of ["spec", "status"] as const) {
    const schema = options[name]
    if (schema === undefined) continue
    if (!Schema.isSchema(schema)) {
      throw new InvalidKind({ kind: options.kind, field: name, why: "is not a Schema; declare it with Schema.Struct" })
    }
    const codec = schema as PureCodec // the public signature admits no other schema
    fields[name] = name === "status" ? Schema.optionalKey(codec) : codec
  }
  return Schema.Struct(fields)
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const pathText = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined): string => {
  let text = ""
  for (const segment of path ?? []) {
    const key = typeof segment === "object" ? segment.key : segment
    if (typeof key === "number") text += `[${key}]`
    else if (typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key)) text += text === "" ? key : `.${key}`
    else text += `[${JSON.stringify(String(key))}]`
  }
  return text
}

/**
 * Which fields a Schema refused, by path, and what would be right.
 *
 * @category getters
 * @since 0.1.0
 */
export const fieldsOf = (error: Schema.SchemaError): ReadonlyArray<Field> =>
  formatIssue(error.issue).issues.map((issue) => ({ path: pathText(issue.path), why: issue.message }))

/** `undefined`: no status is declared. */
const statusFieldsOf = (status: unknown): ReadonlyArray<string> | undefined => {
  if (status === undefined) return undefined
  const hasFields = (typeof status === "object" || typeof status === "function") && status !== null &&
    "fields" in status
  const fields = hasFields ? status.fields : undefined
  return typeof fields === "object" && fields !== null ? Object.keys(fields) : []
}

const declaredFields = (options: {
  readonly spec?: unknown
  readonly status?: unknown
  readonly fields?: FieldSchemas | undefined
}): ReadonlyArray<string> => [
  ...Object.keys(options.fields ?? {}),
  ...(options.spec === undefined ? [] : ["spec"]),
  ...(options.status === undefined ? [] : ["status"])
]

/** The top-level fields of an object of plain JSON, as they are. */
const topLevelOf = (object: object): object =>
  Object.fromEntries(Object.entries(object).filter(([name, value]) => !objectFields.has(name) && value !== undefined))

const fromCodecs = <A extends Any>(
  address: Address,
  declared: { readonly version: string },
  fields: ReadonlyArray<string>,
  statusFields: ReadonlyArray<string> | undefined,
  isData: boolean,
  wire: Schema.Codec<unknown, unknown>,
  codec: Schema.Codec<unknown, unknown>
): Kind<A> => {
  const apiVersion = address.group === "" ? declared.version : `${address.group}/${declared.version}`
  const storedApiVersion = address.group === "" ? address.version : `${address.group}/${address.version}`
  const plain = codec === wire && Schema.toEncoded(codec).ast === codec.ast
  const all = { errors: "all" } as const
  const isPlainly = plain ? PlainCheck.compile(codec.ast) : undefined
  const decodeFields = readily(Schema.decodeUnknownResult(codec), Schema.decodeUnknownResult(codec, all))
  const encodeFields = readily(Schema.encodeUnknownResult(codec), Schema.encodeUnknownResult(codec, all))
  const decodeWire = Schema.decodeUnknownResult(wire, all)
  const self: Kind<A> = {
    [TypeId]: (a) => a,
    address,
    apiVersion,
    groupKind: groupKind(address),
    fields,
    hasStatus: statusFields !== undefined,
    statusFields: statusFields ?? [],
    plain,
    codec,
    decode: (raw) => {
      if (isPlainly?.(raw) === true) return Result.succeed(raw as unknown as A)
      const decoded = decodeFields(raw)
      if (Result.isFailure(decoded)) return Result.fail(new DecodeError({ fields: fieldsOf(decoded.failure) }))
      // Decoding the declared fields is what makes a raw object an A.
      const object = plain
        ? raw as unknown as A
        : { apiVersion, kind: address.kind, metadata: raw.metadata, ...(decoded.success as object) } as unknown as A
      return Result.succeed(object)
    },
    encode: (object) => {
      const encoded = encodeFields(object)
      if (Result.isFailure(encoded)) return Result.fail(new Invalid({ fields: fieldsOf(encoded.failure) }))
      return Result.succeed({
        apiVersion: storedApiVersion,
        kind: address.kind,
        metadata: object.metadata,
        ...(encoded.success as object)
      })
    },
    encodeSparse: (object) => {
      const ours = { apiVersion: storedApiVersion, kind: address.kind, metadata: object.metadata }
      // Data need not be whole here: what an apply makes of the stored object is judged where it is made.
      if (isData) {
        const given = fromUnknown(topLevelOf(object))
        return Result.isFailure(given)
          ? Result.fail(new Invalid({ fields: [{ path: given.failure.path, why: given.failure.reason }] }))
          : Result.succeed({ ...ours, ...(given.success as object) })
      }
      const encoded = encodeFields(object)
      return Result.isFailure(encoded)
        ? Result.fail(new Invalid({ fields: fieldsOf(encoded.failure) }))
        : Result.succeed({ ...ours, ...(encoded.success as object) })
    },
    decodeManifest: (manifest) => {
      const decoded = decodeWire(manifest)
      if (Result.isFailure(decoded)) return Result.fail(new Invalid({ fields: fieldsOf(decoded.failure) }))
      const metadata: MetadataInput = "metadata" in manifest ? manifest.metadata as MetadataInput : {}
      return Result.succeed({ ...(decoded.success as object), metadata } as unknown as Input<A>)
    }
  }
  return self
}

/** What is right, as most of what is stored is, needs no list of all that is wrong: that takes nearly twice the time. */
const readily =
  <A, B, E>(first: (input: A) => Result.Result<B, E>, all: (input: A) => Result.Result<B, E>) =>
  (input: A): Result.Result<B, E> => {
    const result = first(input)
    return Result.isSuccess(result) ? result : all(input)
  }

/**
 * @category guards
 * @since 0.1.0
 */
export const isKind = (u: unknown): u is Kind<Any> => typeof u === "object" && u !== null && TypeId in u
