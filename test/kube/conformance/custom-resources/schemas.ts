import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, randomName, type WidgetKind } from '../../support/widgets.ts';

/** The effects of a schema on objects: defaults, pruning, and rejections with their exact messages. */
export function testSchemas(server: () => ServerUnderTest): void {
  describe('schemas', () => {
    let namespace: string;
    let widget: WidgetKind;

    beforeAll(async () => {
      namespace = await server().namespace('schemas');
      widget = await ensureWidgetKind(server());
    });

    const create = (spec: Body, more: Body = {}) => {
      const name = randomName();
      const query = { dryRun: 'All', fieldValidation: 'Ignore' };
      return server().admin.post(widget.path(namespace), widget.make(name, spec, more), { query });
    };
    const accepted = async (spec: Body) => expectSuccess(await create(spec), 201).spec;

    describe('set defaults', () => {
      it('for absent fields, also inside list items and inside an object that was itself a default', async () => {
        const spec = await accepted({ parts: [{ name: 'a' }, { name: 'b', count: 7 }] });
        expect(spec).toMatchObject({
          color: 'red',
          enabled: true,
          nested: { level: 'low' },
          parts: [
            { name: 'a', count: 1 },
            { name: 'b', count: 7 },
          ],
        });
      });

      it('inside an existing object, without creating missing objects', async () => {
        expect((await accepted({ nested: { other: 'x' } })).nested).toEqual({ level: 'low', other: 'x' });
        expect(await accepted({})).not.toHaveProperty('parts');
      });

      it('for null where null is not allowed, and keep null where it is', async () => {
        const spec = await accepted({ color: null, maybe: null });
        expect(spec.color).toBe('red');
        expect(spec.maybe).toBeNull();
      });

      it('drop null where neither a default nor null is allowed', async () => {
        expect(await accepted({ name: null })).not.toHaveProperty('name');
      });

      it('but never overwrite false, 0 or an empty string', async () => {
        expect((await accepted({ enabled: false })).enabled).toBe(false);
      });
    });

    describe('prune', () => {
      it('unknown fields, at every depth, silently under fieldValidation=Ignore', async () => {
        const spec = await accepted({ odd: 1, nested: { odd: 1 }, parts: [{ name: 'a', odd: 1 }] });
        expect(spec).not.toHaveProperty('odd');
        expect(spec.nested).not.toHaveProperty('odd');
        expect(spec.parts[0]).not.toHaveProperty('odd');
      });

      it('nothing below x-kubernetes-preserve-unknown-fields', async () => {
        const free = { any: { thing: [1, 'two', { three: null }] } };
        expect((await accepted({ free })).free).toEqual(free);
      });

      it('unknown keys at the root and in the metadata', async () => {
        const metadata = { name: randomName(), odd: 1 };
        const body = expectSuccess(await create({}, { metadata, odd: 1 }), 201);
        expect(body).not.toHaveProperty('odd');
        expect(body.metadata).not.toHaveProperty('odd');
      });
    });

    describe('reject with 422, the field, and this message:', () => {
      it.each<[string, Body, string]>([
        ['a missing field', { size: undefined }, 'spec.size: Required value'],
        [
          'a wrong type',
          { size: 'big' },
          'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
        ],
        [
          'a text where a truth value belongs',
          { enabled: 'yes' },
          'spec.enabled: Invalid value: "string": spec.enabled in body must be of type boolean: "string"',
        ],
        [
          'a list where an object belongs',
          { nested: [] },
          'spec.nested: Invalid value: "array": spec.nested in body must be of type object: "array"',
        ],
        [
          'an object where a list belongs',
          { words: {} },
          'spec.words: Invalid value: "object": spec.words in body must be of type array: "object"',
        ],
        [
          'a number in a list of texts',
          { words: ['a', 1] },
          'spec.words[1]: Invalid value: "integer": spec.words[1] in body must be of type string: "integer"',
        ],
        [
          'a value too small',
          { size: 0 },
          'spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
        ],
        [
          'a value too large',
          { size: 11 },
          'spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10',
        ],
        [
          'a word that is not in the list',
          { color: 'pink' },
          'spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"',
        ],
        [
          'a text too short',
          { name: 'a' },
          'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
        ],
        ['a text too long', { name: 'abcdefghi' }, 'spec.name: Too long: may not be more than 8 bytes'],
        [
          'a text against the pattern',
          { name: 'A1' },
          `spec.name: Invalid value: "A1": spec.name in body should match '^[a-z]+$'`,
        ],
        ['too many items', { tags: ['a', 'b', 'c', 'd'] }, 'spec.tags: Too many: 4: must have at most 3 items'],
        ['the same item twice in a set', { tags: ['a', 'a'] }, 'spec.tags[1]: Duplicate value: "a"'],
        [
          'the same key twice in a list of type map',
          { parts: [{ name: 'a' }, { name: 'a' }] },
          'spec.parts[1]: Duplicate value: {"name":"a"}',
        ],
        ['a missing key in a list of type map', { parts: [{}] }, 'spec.parts[0].name: Required value'],
        [
          'a date that is none',
          { when: 'yesterday' },
          'spec.when: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"',
        ],
        [
          'neither number nor text for int-or-string',
          { port: true },
          'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
        ],
        [
          'a value too long in a map',
          { labels: { a: 'abcde' } },
          'spec.labels.a: Too long: may not be more than 4 bytes',
        ],
      ])('%s', async (_, spec, expected) => {
        const status = expectRejection(await create(spec), 422, 'Invalid');
        expect(causesOf(status)).toEqual([expected]);
        expect(status.message).toMatch(
          new RegExp(`^Widget\\.${server().group.replaceAll('.', '\\.')} "w[0-9a-f]+" is invalid: `),
        );
        expect(status.details).toMatchObject({ group: server().group, kind: 'Widget' });
      });

      it('all violations at once, one cause each', async () => {
        const status = expectRejection(await create({ size: 0, color: 'pink', name: 'ABC' }), 422, 'Invalid');
        expect(causesOf(status).map((cause) => cause.split(':')[0])).toEqual(['spec.color', 'spec.name', 'spec.size']);
        expect(status.message).toMatch(/ is invalid: \[.*, .*\]$/);
      });

      it('reasons that a program can distinguish', async () => {
        const reasons = async (spec: Body) =>
          expectRejection(await create(spec), 422, 'Invalid').details.causes.map((c: Body) => c.reason);
        expect(await reasons({ size: undefined })).toEqual(['FieldValueRequired']);
        expect(await reasons({ size: 'x' })).toEqual(['FieldValueTypeInvalid']);
        expect(await reasons({ size: 11 })).toEqual(['FieldValueInvalid']);
        expect(await reasons({ color: 'pink' })).toEqual(['FieldValueNotSupported']);
        expect(await reasons({ tags: ['a', 'a'] })).toEqual(['FieldValueDuplicate']);
        expect(await reasons({ name: 'abcdefghi' })).toEqual(['FieldValueTooLong']);
        expect(await reasons({ tags: ['a', 'b', 'c', 'd'] })).toEqual(['FieldValueTooMany']);
      });

      it('a missing spec', async () => {
        const status = expectRejection(await create({}, { spec: undefined }), 422, 'Invalid');
        expect(causesOf(status)).toEqual(['spec: Required value']);
      });
    });

    it('accept whole numbers written with a fraction of zero, and both forms of int-or-string', async () => {
      expect((await accepted({ size: 2.0 })).size).toBe(2);
      expect((await accepted({ port: 80 })).port).toBe(80);
      expect((await accepted({ port: 'http' })).port).toBe('http');
    });

    it('keep the notation of numbers and dates', async () => {
      const spec = await accepted({ ratio: 1.5, when: '2026-11-21T09:30:00+02:00' });
      expect(spec.ratio).toBe(1.5);
      expect(spec.when).toBe('2026-11-21T09:30:00+02:00');
    });

    it('of a built-in kind reject a wrong type with 400 and the Go path', async () => {
      const path = `/api/v1/namespaces/${namespace}/configmaps`;
      const status = expectRejection(
        await server().admin.post(path, { metadata: { name: 'x' }, data: { a: 1 } }),
        400,
        'BadRequest',
      );
      expect(status.message).toMatch(
        /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap\.data of type string$/,
      );
    });
  });
}
