import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, refuses, succeeds } from '../support/expectations.ts';
import { installCopy, type Rule, rulesOf, shipped } from '../support/our-definitions.ts';
import { type Attempt, examples, type RuleCase, ruleCases } from '../support/our-rule-cases.ts';
import type { ServerUnderTest } from '../support/server-under-test.ts';
import { word } from '../support/widgets.ts';
import type { Answer, Body } from '../support/wire.ts';

const rules: readonly Rule[] = shipped.flatMap(([, definition]) => rulesOf(definition));
const casesOf = ({ kind, path, message }: Rule): readonly RuleCase[] =>
  ruleCases.filter((one) => one.kind === kind && one.path === path && message.includes(one.says ?? ''));

/** The CEL rules of our own kinds: each lets pass what it should, and refuses with its own sentence what it should not. */
export function ourRuleRules(server: () => ServerUnderTest): void {
  describe('the CEL rules of our own kinds', () => {
    const paths = new Map<string, string>();

    beforeAll(async () => {
      for (const [, definition] of shipped) {
        const { names, scope } = definition.spec;
        const all = await installCopy(server(), definition);
        paths.set(names.kind, scope === 'Namespaced' ? all.replace(/([^/]+)$/, 'namespaces/default/$1') : all);
      }
    });

    it('have a case each, and no case is without a rule', () => {
      const known = ({ kind, path }: Pick<Rule, 'kind' | 'path'>) => `${kind}${path}`;
      expect(ruleCases.map(known).sort()).toEqual(rules.map(known).sort());
    });

    /** Creates what is asked for, changes it if that is asked for, and gives the last answer. */
    async function attempt(kind: string, { spec = {}, change, nameLength }: Attempt): Promise<Answer> {
      const { admin, group } = server();
      const path = paths.get(kind) ?? '';
      const name = nameLength === undefined ? word() : word().padEnd(nameLength, 'x');
      const object: Body = { apiVersion: `${group}/v1alpha1`, kind, metadata: { name } };
      const created = await admin.post(path, { ...object, spec: { ...examples[kind], ...spec } });
      if (change === undefined) return created;
      succeeds(created, 201);
      return admin.merge(`${path}/${name}`, { spec: change });
    }

    it.each(rules.map((rule) => [`${rule.kind}${rule.path}: ${rule.message}`, rule] as const))(
      '%s',
      async (_, rule) => {
        const cases = casesOf(rule);
        expect(cases).not.toEqual([]);
        for (const one of cases) {
          const accepted = await attempt(rule.kind, one.accepts);
          expect([200, 201], accepted.text).toContain(accepted.status);
          const status = refuses(await attempt(rule.kind, one.refuses), 422, 'Invalid');
          expect(causesOf(status).join('\n')).toContain(rule.message);
        }
      },
    );
  });
}
