import { isObject } from '../json.ts';
import { fieldSchema, type ObjectSchema, valueSchema } from '../schema/schema.ts';

/** The cost limit of one rule, by the estimate (`StaticEstimatedCostLimit`). */
export const ruleCostLimit = 10_000_000;

/** Maximum bytes of a request. It limits the estimated size of unbounded values. */
const requestLimit = 3 * 1024 * 1024;

/** Maximum number of items of a list or map: the declared limit, or as many of the smallest as fit into a request. */
export function largestItemCount(schema: ObjectSchema): number {
  const bound = schema.maxItems ?? schema.maxProperties;
  if (bound !== undefined) return bound;
  const inside = schema.items ?? valueSchema(schema);
  const perItem = (inside ? smallestSize(inside) : 2) + (schema.items ? 1 : 5);
  return Math.ceil(requestLimit / perItem);
}

/** The minimum number of bytes of a value of the schema in a request. */
function smallestSize(schema: ObjectSchema): number {
  switch (schema.type) {
    case 'boolean':
      return 4;
    case 'object':
      return (schema.required ?? []).reduce(
        (sum, name) => sum + name.length + 4 + smallestSize(schema.properties?.[name] ?? {}),
        2,
      );
    case 'string':
      return 2 + (schema.minLength ?? 0);
    default:
      return schema.enum ? 3 : 1;
  }
}

/** The maximum length of a string. */
function largestTextLength(schema: ObjectSchema | undefined): number {
  if (schema?.maxLength !== undefined) return schema.maxLength;
  if (schema?.enum) return Math.max(...schema.enum.map((value) => String(value).length));
  switch (schema?.format) {
    case 'date-time':
    case 'duration':
    case 'date':
      return 32;
    default:
      return requestLimit - 2;
  }
}

/** The cost of an expression, and the known properties of its value. */
interface Estimate {
  readonly cost: number;
  readonly schema: ObjectSchema | undefined;
}

type Scope = ReadonlyMap<string, ObjectSchema | undefined>;

/**
 * Approximates the API server's estimate (cel-go's `checker/cost.go`) for a rule that is evaluated `count` times: one
 * for each step, a tenth for each character that is read, and loops by the maximum length of their list. A rule far
 * above the limit is refused and a rule far below is accepted, as on the real server; near the limit the results may
 * differ.
 */
export function estimateCost(ast: unknown, schema: ObjectSchema, count: number): number {
  const scope = new Map([
    ['self', schema],
    ['oldSelf', schema],
  ]);
  return estimate(ast, scope).cost * count;
}

const zeroEstimate: Estimate = { cost: 0, schema: undefined };
const loopMacros = new Set(['all', 'exists', 'exists_one', 'existsOne', 'filter', 'map']);
const textFunctions = new Set([
  'contains',
  'startsWith',
  'endsWith',
  'matches',
  'split',
  'lowerAscii',
  'upperAscii',
  'trim',
]);

function estimate(node: unknown, scope: Scope): Estimate {
  if (Array.isArray(node)) {
    return { cost: node.reduce((sum: number, part) => sum + estimate(part, scope).cost, 0), schema: undefined };
  }
  if (!isObject(node)) return zeroEstimate;
  const { op, args } = node;
  switch (op) {
    case 'value':
      return { cost: 0, schema: typeof args === 'string' ? { type: 'string', maxLength: args.length } : undefined };
    case 'id':
      return { cost: 1, schema: scope.get(String(args)) };
    case '.':
    case '.?': {
      const [target, name] = args as [unknown, string];
      const from = estimate(target, scope);
      return { cost: from.cost + 1, schema: fieldSchema(from.schema, name) };
    }
    case '[]': {
      const [target, index] = args as [unknown, unknown];
      const from = estimate(target, scope);
      const schema = from.schema?.items ?? (from.schema && valueSchema(from.schema));
      return { cost: from.cost + estimate(index, scope).cost + 1, schema };
    }
    case 'rcall':
      return method(args as [string, unknown, unknown[]], scope);
    case 'call':
      return { cost: 1 + estimate((args as unknown[])[1], scope).cost, schema: undefined };
    case 'in': {
      const [item, list] = args as [unknown, unknown];
      const where = estimate(list, scope);
      const size = where.schema ? largestItemCount(where.schema) : 10;
      return { cost: estimate(item, scope).cost + where.cost + size, schema: undefined };
    }
    default:
      return compareOrCombine(String(op), args, scope);
  }
}

function compareOrCombine(op: string, args: unknown, scope: Scope): Estimate {
  const parts = (Array.isArray(args) ? args : [args]).map((part) => estimate(part, scope));
  const cost = parts.reduce((sum, part) => sum + part.cost, 1);
  if (!['==', '!=', '+', '<', '>', '<=', '>='].includes(op)) return { cost, schema: undefined };
  const texts = parts.filter((part) => part.schema?.type === 'string').map((part) => largestTextLength(part.schema));
  const work = texts.length === 0 ? 0 : op === '+' ? texts.reduce((a, b) => a + b, 0) : Math.min(...texts);
  return { cost: cost + work / 10, schema: undefined };
}

function method([name, target, args]: [string, unknown, unknown[]], scope: Scope): Estimate {
  const on = estimate(target, scope);
  if (loopMacros.has(name)) {
    const size = on.schema ? largestItemCount(on.schema) : 10;
    const variable = isObject(args[0]) ? String(args[0]['args']) : '';
    const isList = on.schema?.items !== undefined;
    const item = isList ? on.schema?.items : ({ type: 'string', maxLength: 253 } as const);
    const inside = new Map([...scope, [variable, item]]);
    const body = estimate(args.slice(1), inside).cost + 2;
    return { cost: on.cost + 1 + size * body, schema: name === 'filter' ? on.schema : undefined };
  }
  const work = textFunctions.has(name)
    ? largestTextLength(on.schema?.type === 'string' ? on.schema : undefined) / 10
    : 0;
  const known = on.schema?.type === 'string' ? work : textFunctions.has(name) ? 10 : 0;
  return { cost: on.cost + estimate(args, scope).cost + 1 + known, schema: undefined };
}
