import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMergePatch } from './merge-patch.ts';

/** RFC 7396, section 2, as the API server applies it. */
function applyPatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {};
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyPatch(result[key], value);
  }
  return result;
}

const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }));
const plain = fc.letrec((tie) => ({
  node: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.oneof({ depthSize: 'small' }, leaf, tie('node')), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
})).node as fc.Arbitrary<Record<string, unknown>>;

describe('the difference between two statuses', () => {
  it('turns the first into the second', () => {
    fc.assert(
      fc.property(plain, plain, (before, after) => {
        expect(applyPatch(before, createMergePatch(before, after) ?? {})).toEqual(after);
      }),
    );
  });

  it('is undefined when nothing changed', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(createMergePatch(value, structuredClone(value))).toBeUndefined();
      }),
    );
  });
});
