import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { toStructuralSchema } from './structural-schema.ts';

describe('drops or translates what a CRD cannot express', () => {
  test('drops closed objects: the API server prunes', () => {
    expect(toStructuralSchema(z.strictObject({ name: z.string() }))).toEqual({
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' } },
    });
  });

  test('turns the bounds of a JavaScript number into int64', () => {
    expect(toStructuralSchema(z.int())).toEqual({ type: 'integer', format: 'int64' });
    expect(toStructuralSchema(z.int().min(0).max(9))).toEqual({ type: 'integer', minimum: 0, maximum: 9 });
  });

  test('keeps free-form objects whole', () => {
    const free = z.looseObject({}).meta({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
    expect(toStructuralSchema(free)).toEqual({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  });

  test('keeps the schema of map values', () => {
    expect(toStructuralSchema(z.record(z.string(), z.string().max(3)))).toEqual({
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 3 },
    });
  });

  test('does not require optional fields, and shows their defaults', () => {
    const schema = z.strictObject({
      a: z.string().default('x'),
      b: z.strictObject({ c: z.int32().default(1) }).prefault({}),
    });
    expect(toStructuralSchema(schema)).toMatchObject({
      properties: { a: { default: 'x' }, b: { default: {}, properties: { c: { default: 1 } } } },
    });
    expect(toStructuralSchema(schema)).not.toHaveProperty('required');
  });

  test('describes a transformed value by its input type', () => {
    const url = z.string().transform((text) => new URL(text));
    expect(toStructuralSchema(z.strictObject({ url }))).toMatchObject({ properties: { url: { type: 'string' } } });
  });

  test('unescapes patterns for use outside of JavaScript', () => {
    expect(toStructuralSchema(z.string().regex(/^a\/b$/))).toMatchObject({ pattern: '^a/b$' });
  });
});

describe('throws an error with the path for a schema that cannot be expressed', () => {
  test.each([
    ['a union of objects', z.strictObject({ a: z.union([z.strictObject({ b: z.string() }), z.string()]) })],
    ['something without a type', z.strictObject({ a: z.unknown() })],
  ])('%s', (_, schema) => {
    expect(() => toStructuralSchema(schema)).toThrow(/^\.a/);
  });
});
