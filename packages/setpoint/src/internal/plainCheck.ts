/**
 * Whether a value is what a schema says, for schemas whose objects are stored as they are typed: nothing is to be decoded,
 * so nothing is built. Structs of bare types are looked at directly, several times as fast; all else asks Schema.
 */
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"

export type Check = (value: unknown) => boolean

interface Property {
  readonly name: string
  readonly isOptional: boolean
  readonly check: Check
}

/** A check that holds exactly where the schema accepts. */
export const compile = (ast: SchemaAST.AST): Check => {
  if (ast.checks !== undefined || ast.encoding !== undefined) return asksSchema(ast)
  switch (ast._tag) {
    case "String":
      return (value) => typeof value === "string"
    case "Number":
      return (value) => typeof value === "number"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Objects":
      return struct(ast) ?? asksSchema(ast)
    default:
      return asksSchema(ast)
  }
}

const asksSchema = (ast: SchemaAST.AST): Check => Schema.is(Schema.make<Schema.Top>(ast))

const struct = (ast: SchemaAST.Objects): Check | undefined => {
  if (ast.indexSignatures.length > 0 || ast.propertySignatures.length === 0) return undefined
  const properties: Array<Property> = []
  for (const { name, type } of ast.propertySignatures) {
    if (typeof name !== "string" || name === "__proto__") return undefined
    properties.push({ name, isOptional: type.context?.isOptional === true, check: compile(type) })
  }
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false
    const object = value as { readonly [name: string]: unknown }
    for (const { check, isOptional, name } of properties) {
      const member = object[name]
      if (member === undefined && !(name in object)) {
        if (isOptional) continue
        return false
      }
      if (!check(member)) return false
    }
    return true
  }
}
