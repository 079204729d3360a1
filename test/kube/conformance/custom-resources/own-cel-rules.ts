import { beforeAll, describe, expect, it } from 'vitest';
import { type CelRuleAttempt, type CelRuleCase, celRuleCases, exampleSpecs } from '../../support/cel-rule-cases.ts';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import { type CelRule, celRulesOf, installCrdCopy, shippedCrds } from '../../support/own-crds.ts';
import type { Body, RawResponse } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { randomName } from '../../support/widgets.ts';

const ownCelRules: readonly CelRule[] = shippedCrds.flatMap(([, definition]) => celRulesOf(definition));
const casesOf = ({ kind, path, message }: CelRule): readonly CelRuleCase[] =>
  celRuleCases.filter((one) => one.kind === kind && one.path === path && message.includes(one.says ?? ''));

/**
 * The CEL rules of the provider's own kinds: each accepts its valid case, and rejects its invalid case with its own
 * message.
 */
export function testOwnCelRules(server: () => ServerUnderTest): void {
  describe("the CEL rules of the provider's own kinds", () => {
    const paths = new Map<string, string>();

    beforeAll(async () => {
      for (const [, definition] of shippedCrds) {
        const { names, scope } = definition.spec;
        const all = await installCrdCopy(server(), definition);
        paths.set(names.kind, scope === 'Namespaced' ? all.replace(/([^/]+)$/, 'namespaces/default/$1') : all);
      }
    });

    it('have one case each, and every case has a rule', () => {
      const known = ({ kind, path }: Pick<CelRule, 'kind' | 'path'>) => `${kind}${path}`;
      expect(celRuleCases.map(known).sort()).toEqual(ownCelRules.map(known).sort());
    });

    /** Creates an object, optionally changes it, and returns the last response. */
    async function attempt(kind: string, { spec = {}, change, nameLength }: CelRuleAttempt): Promise<RawResponse> {
      const { admin, group } = server();
      const path = paths.get(kind) ?? '';
      const name = nameLength === undefined ? randomName() : randomName().padEnd(nameLength, 'x');
      const object: Body = { apiVersion: `${group}/v1alpha1`, kind, metadata: { name } };
      const created = await admin.post(path, { ...object, spec: { ...exampleSpecs[kind], ...spec } });
      if (change === undefined) return created;
      expectSuccess(created, 201);
      return admin.merge(`${path}/${name}`, { spec: change });
    }

    it.each(ownCelRules.map((rule) => [`${rule.kind}${rule.path}: ${rule.message}`, rule] as const))(
      '%s',
      async (_, rule) => {
        const cases = casesOf(rule);
        expect(cases).not.toEqual([]);
        for (const one of cases) {
          const accepted = await attempt(rule.kind, one.accepts);
          expect([200, 201], accepted.text).toContain(accepted.status);
          const status = expectRejection(await attempt(rule.kind, one.refuses), 422, 'Invalid');
          expect(causesOf(status).join('\n')).toContain(rule.message);
        }
      },
    );

    it('a Host with the fields of an earlier version is rejected, and each field is named', async () => {
      const { admin, group } = server();
      const spec = { ...exampleSpecs['Host'], serverID: undefined, serverNumber: 4711, resetTypes: ['hw'] };
      const host: Body = { apiVersion: `${group}/v1alpha1`, kind: 'Host', metadata: { name: randomName() }, spec };
      const query = { fieldValidation: 'Strict' };
      const strict = expectRejection(await admin.post(paths.get('Host') ?? '', host, { query }), 400, 'BadRequest');
      expect(strict.message).toContain('unknown field "spec.serverNumber"');
      expect(strict.message).toContain('unknown field "spec.resetTypes"');
      const invalid = expectRejection(await admin.post(paths.get('Host') ?? '', host), 422, 'Invalid');
      expect(invalid.message).toContain('spec.serverID: Required value');
    });
  });
}
