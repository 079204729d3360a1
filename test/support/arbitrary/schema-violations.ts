import fc from 'fast-check';
import type { CustomResourceDefinition } from '../../../src/kube/core-types.ts';
import type { ObjectSchema } from '../../world/kube/schema/schema.ts';

/** The schema of a kind's spec, from its CRD. */
export function specSchema(crds: readonly CustomResourceDefinition[], kind: string): ObjectSchema {
  const crd = crds.find(({ spec }) => (spec['names'] as { kind: string }).kind === kind);
  if (!crd) throw new Error(`there is no definition of ${kind}`);
  const [version] = crd.spec['versions'] as { schema: { openAPIV3Schema: ObjectSchema } }[];
  return version?.schema.openAPIV3Schema.properties?.['spec'] ?? {};
}

/** A valid value with one mistake. */
export interface InvalidValue<T> {
  readonly value: T;
  /** The mistake, e.g. `a text in place of a list`. */
  readonly what: string;
  /** Its path as error messages show it, e.g. `spec.workerPools[0].taints`. */
  readonly field: string;
}

interface Mistake {
  readonly what: string;
  readonly path: readonly (string | number)[];
  /** Undefined: the field is removed. */
  readonly value: unknown;
}

/**
 * Values that a schema must reject, each made from a valid one by a single mistake. `root` is the name of the whole
 * value in messages.
 */
export const invalidBySchema = <T extends object>(
  good: fc.Arbitrary<T>,
  schema: ObjectSchema,
  root = 'spec',
): fc.Arbitrary<InvalidValue<T>> =>
  fc.tuple(good, fc.nat()).map(([value, pick]) => {
    const mistakes = [...mistakesIn(value, schema, [])];
    const { what, path, value: wrong } = mistakes[pick % mistakes.length] ?? { what: 'nothing', path: [], value };
    return { what, field: formatPath(root, path), value: replaceAt(value, path, wrong) as T };
  });

const formatPath = (root: string, path: readonly (string | number)[]): string =>
  path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${key}`), root);

function replaceAt(value: unknown, [key, ...rest]: readonly (string | number)[], by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((element, i) => (i === key ? replaceAt(element, rest, by) : element));
  const { [key]: old, ...others } = value as Record<string, unknown>;
  const now = replaceAt(old, rest, by);
  return now === undefined ? others : { ...others, [key]: now };
}

/** All possible mistakes in a value and its content. */
function* mistakesIn(value: unknown, schema: ObjectSchema, path: readonly (string | number)[]): Generator<Mistake> {
  const at = (what: string, wrong: unknown): Mistake => ({ what, path, value: wrong });
  if (path.length > 0) yield* typeMistakes(schema).map(([what, wrong]) => at(what, wrong));
  if (typeof value === 'string') yield* textMistakes(schema).map(([what, wrong]) => at(what, wrong));
  if (typeof value === 'number') yield* numberMistakes(schema).map(([what, wrong]) => at(what, wrong));
  if (Array.isArray(value)) {
    yield* listMistakes(value, schema).map(([what, wrong]) => at(what, wrong));
    for (const [i, element] of value.entries()) yield* mistakesIn(element, schema.items ?? {}, [...path, i]);
  } else if (typeof value === 'object' && value !== null) {
    for (const key of schema.required ?? []) yield { what: 'left out', path: [...path, key], value: undefined };
    const others = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
    for (const [key, child] of Object.entries(value)) {
      const inner = schema.properties?.[key] ?? others;
      if (inner && !inner['x-kubernetes-preserve-unknown-fields']) yield* mistakesIn(child, inner, [...path, key]);
    }
  }
}

type InvalidReplacement = [what: string, value: unknown];

function typeMistakes({ type, ...schema }: ObjectSchema): InvalidReplacement[] {
  if (schema['x-kubernetes-preserve-unknown-fields']) return [];
  switch (type) {
    case 'string':
      return [
        ['a number in place of a text', 7],
        ['an object in place of a text', { a: 'b' }],
      ];
    case 'integer':
      return [
        ['a text in place of a number', 'many'],
        ['half a number', 1.5],
      ];
    case 'boolean':
      return [['a text in place of a truth value', 'perhaps']];
    default:
      return [[`a text in place of ${type === 'array' ? 'a list' : 'an object'}`, 'none']];
  }
}

function textMistakes({ pattern, minLength, maxLength, enum: words }: ObjectSchema): InvalidReplacement[] {
  const odd = ['no such word!', '\u{1F680} \n'].filter((text) => pattern && !new RegExp(pattern).test(text));
  return [
    ...odd.map((text): InvalidReplacement => ['a text of another form', text]),
    ...(words ? [['a word of its own', 'Sometimes'] satisfies InvalidReplacement] : []),
    ...((minLength ?? 0) > 0 ? [['an empty text', ''] satisfies InvalidReplacement] : []),
    ...(maxLength === undefined
      ? []
      : [['a text that is too long', 'x'.repeat(maxLength + 1)] satisfies InvalidReplacement]),
  ];
}

const numberMistakes = ({ minimum, maximum }: ObjectSchema): InvalidReplacement[] => [
  ...(minimum === undefined ? [] : [['a number that is too small', minimum - 1] satisfies InvalidReplacement]),
  ...(maximum === undefined ? [] : [['a number that is too large', maximum + 1] satisfies InvalidReplacement]),
];

function listMistakes(list: readonly unknown[], schema: ObjectSchema): InvalidReplacement[] {
  const [first] = list;
  const { minItems = 0, maxItems } = schema;
  const unique = ['set', 'map'].includes(schema['x-kubernetes-list-type'] ?? '');
  return [
    ...(minItems > 0 ? [['an empty list', []] satisfies InvalidReplacement] : []),
    ...(unique && first !== undefined ? [['a thing twice', [...list, first]] satisfies InvalidReplacement] : []),
    ...(maxItems !== undefined && first !== undefined
      ? [['a list that is too long', Array.from({ length: maxItems + 1 }, () => first)] satisfies InvalidReplacement]
      : []),
  ];
}
