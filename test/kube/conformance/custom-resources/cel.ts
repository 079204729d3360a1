import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { celRule, celRules, schemaWithCel } from '../../support/schema-with-cel.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { crdsPath, describeSuiteCrd, installCrd, randomName } from '../../support/widgets.ts';

/** CEL rules: when they are evaluated, their variables, and the messages of rejections. */
export function testCel(server: () => ServerUnderTest): void {
  describe('CEL rules', () => {
    let path: string;
    let kind: string;
    const text = { type: 'string', maxLength: 64 };

    beforeAll(async () => {
      kind = `Rule${server().suffix}`;
      const change = { scope: 'Cluster' as const, version: { subresources: { status: {} } } };
      path = await installCrd(
        server(),
        describeSuiteCrd(server(), { kind, plural: `rules${server().suffix}` }, schemaWithCel, change),
      );
    });

    const make = (name: string, spec: Body) => ({ apiVersion: `${server().group}/v1`, kind, metadata: { name }, spec });
    const create = async (spec: Body) => {
      const name = randomName();
      expectSuccess(await server().admin.post(path, make(name, spec)), 201);
      return `${path}/${name}`;
    };
    const rejection = async (spec: Body) =>
      causesOf(expectRejection(await server().admin.post(path, make(randomName(), spec)), 422, 'Invalid'));
    const change = async (target: string, spec: Body) => server().admin.merge(target, { spec });
    const changeRefusal = async (target: string, spec: Body) =>
      causesOf(expectRejection(await change(target, spec), 422, 'Invalid'));

    it('reject with their message at their field', async () => {
      expect(await rejection({ replicas: 2 })).toEqual(['spec.replicas: Invalid value: 2: 1, 3 or 5']);
      await create({ replicas: 3 });
    });

    it('without a message report the failed rule', async () => {
      expect(await rejection({ bare: 'b' })).toEqual([
        `spec.bare: Invalid value: "b": failed rule: self.startsWith('a')`,
      ]);
    });

    it('on an object report "object" as the value', async () => {
      expect(await rejection({ truenas: {}, hetznerRobot: {} })).toEqual([
        'spec: Invalid value: name at most one platform',
      ]);
    });

    it('may compute the message, name a field below, and set a reason', async () => {
      const answer = await server().admin.post(path, make(randomName(), { min: 5, max: 2, secret: 'me' }));
      const status = expectRejection(answer, 422, 'Invalid');
      expect(status.details.causes).toEqual([
        { reason: 'FieldValueForbidden', message: 'Forbidden: min is above max for me', field: 'spec.max' },
      ]);
      await create({ min: 5 });
      await create({ min: 5, max: 5 });
    });

    it('at the root see the name, and no other metadata', async () => {
      const answer = await server().admin.post(path, make('forbidden', {}));
      expect(causesOf(expectRejection(answer, 422, 'Invalid'))).toEqual(['<nil>: Invalid value: this name is taken']);
    });

    it('with oldSelf are evaluated on updates only, and only if the field existed before and after', async () => {
      const target = await create({ profile: 'a' });
      expect(await changeRefusal(target, { profile: 'b' })).toEqual([
        'spec.profile: Invalid value: "b": profile is immutable',
      ]);
      expectSuccess(await change(target, { profile: 'a', min: 1 }));
      // Removed and set again: a rule on the field itself does not detect that.
      expectSuccess(await change(target, { profile: null }));
      expectSuccess(await change(target, { profile: 'b' }));
    });

    it('on the parent detect that a field was removed', async () => {
      const target = await create({ secret: 'x' });
      expect(await changeRefusal(target, { secret: null })).toEqual(['spec: Invalid value: secret may not be removed']);
    });

    it('with optionalOldSelf are also evaluated on creation', async () => {
      expect(await rejection({ once: 'second' })).toEqual(['spec.once: Invalid value: "second": begin with first']);
      const target = await create({ once: 'first' });
      expectSuccess(await change(target, { once: 'second' }));
    });

    it('are evaluated for each item, at the index of the item', async () => {
      expect(await rejection({ pools: [{ name: 'main' }, { name: 'b', size: 0 }] })).toEqual([
        'spec.pools[1].size: Invalid value: size must be positive',
      ]);
    });

    it('with oldSelf inside a list of type map match items by key, at any position', async () => {
      const target = await create({
        pools: [
          { name: 'main', size: 3 },
          { name: 'b', size: 1 },
        ],
      });
      expectSuccess(
        await change(target, {
          pools: [
            { name: 'b', size: 2 },
            { name: 'main', size: 3 },
          ],
        }),
      );
      expect(
        await changeRefusal(target, {
          pools: [
            { name: 'b', size: 2 },
            { name: 'main', size: 1 },
          ],
        }),
      ).toEqual(['spec.pools[1].size: Invalid value: 1: may only grow']);
      expect(await changeRefusal(target, { pools: [{ name: 'main', size: 3 }] })).toEqual([
        'spec.pools: Invalid value: pools may not be removed',
      ]);
    });

    it('support all, exists_one, size, in and maps', async () => {
      expect(await rejection({ pools: [{ name: 'b' }] })).toEqual(['spec.pools: Invalid value: exactly one pool main']);
      await create({ pools: [], labels: { xa: '1' } });
      expect(await rejection({ labels: { a: '1' } })).toEqual(['spec.labels: Invalid value: keys begin with x']);
      expect(await rejection({ labels: { xa: '' } })).toEqual(['spec.labels: Invalid value: keys begin with x']);
    });

    it('compare times', async () => {
      await create({ when: '2026-01-01T00:00:00Z' });
      expect(await rejection({ when: '2019-01-01T00:00:00Z' })).toEqual([
        'spec.when: Invalid value: "2019-01-01T00:00:00Z": before 2020',
      ]);
    });

    it('on the status are evaluated when the status is written', async () => {
      const target = await create({});
      const write = (status: Body) => server().admin.merge(`${target}/status`, { status });
      expectSuccess(await write({ cluster: 'a' }));
      expect(causesOf(expectRejection(await write({ cluster: 'b' }), 422, 'Invalid'))).toEqual([
        'status.cluster: Invalid value: "b": cluster is immutable',
      ]);
      expect(causesOf(expectRejection(await write({ cluster: null }), 422, 'Invalid'))).toEqual([
        'status: Invalid value: cluster may not be removed',
      ]);
      expectSuccess(await write({ phase: 'x' }));
    });

    it('are not evaluated when the schema rejects the object', async () => {
      expect(await rejection({ replicas: 'two' })).toEqual([
        '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
      ]);
    });

    it('apply to server-side apply and to JSON patch as well', async () => {
      const target = await create({ profile: 'a' });
      const patch = [{ op: 'replace', path: '/spec/profile', value: 'b' }];
      expectRejection(await server().admin.jsonPatch(target, patch), 422, 'Invalid');
      const name = target.split('/').pop() ?? '';
      expectRejection(
        await server().admin.apply(target, make(name, { profile: 'b' }), 'one', { force: true }),
        422,
        'Invalid',
      );
    });

    describe('are rejected in a definition', () => {
      const propose = (schema: Body) => {
        const plural = randomName();
        const body = describeSuiteCrd(
          server(),
          { kind: `K${plural}`, plural },
          { type: 'object', properties: { spec: schema } },
        );
        return server().admin.post(crdsPath, body, { query: { dryRun: 'All' } });
      };
      const refused = async (schema: Body) => causesOf(expectRejection(await propose(schema), 422, 'Invalid'));
      const at = 'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]';
      const withRule = (expression: string, more: Body = {}) => ({
        type: 'object',
        properties: { a: text, n: { type: 'integer' } },
        ...celRules(celRule(expression, more)),
      });

      it.each([
        ['cannot be parsed', 'self.a =='],
        ['name a field that the schema does not have', "self.b == 'x'"],
        ['compare different types', "self.n == 'x'"],
        ['call a function that does not exist', 'self.a.shout()'],
      ])('when they %s', async (_, expression) => {
        const [cause, ...others] = await refused(withRule(expression));
        expect(cause?.startsWith(`${at}.rule: Invalid value: `)).toBe(true);
        expect(cause).toContain('compilation failed: ');
        expect(others).toEqual([]);
      });

      it('when they are not boolean', async () => {
        const causes = await refused(withRule('self.a'));
        expect(causes[0]).toContain('must evaluate to a bool');
      });

      it('when they are empty', async () => {
        expect((await refused(withRule('')))[0]).toBe(`${at}.rule: Required value: rule is not specified`);
      });

      it('when their message has more than one line, or their reason is unknown', async () => {
        expect((await refused(withRule('true', { message: 'a\nb' })))[0]).toContain('must not contain line breaks');
        expect((await refused(withRule('true', { reason: 'Because' })))[0]).toContain('Unsupported value: "Because"');
      });

      it('when their fieldPath does not exist', async () => {
        expect((await refused(withRule('true', { message: 'x', fieldPath: '.zzz' })))[0]).toContain('fieldPath');
      });

      it('when their estimated cost is too high for an unbounded value', async () => {
        const unbounded = {
          type: 'object',
          properties: {
            list: {
              type: 'array',
              items: { type: 'object', properties: { words: { type: 'array', items: { type: 'string' } } } },
              ...celRules(celRule('self.all(x, self.all(y, x.words.all(w, y.words.exists(v, v == w))))')),
            },
          },
        };
        expect((await refused(unbounded)).join()).toContain('estimated rule cost exceeds budget');
      });
    });
  });
}
