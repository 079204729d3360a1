import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseRequest } from '../../world/kube/request.ts';
import type { Call } from '../../world/switchboard.ts';
import { type Reference, undisturbed } from './trial.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Every right that `config/rbac` gives, as `verb resource.group`. */
function given(): string[] {
  const roles = parseAllDocuments(readFileSync('config/rbac/role.yaml', 'utf8')).map((document) => document.toJS());
  const rules = (roles as { rules: Rule[] }[]).flatMap((role) => role.rules);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => right(verb, resource, group)))),
  );
}

const right = (verb: string, resource: string, group: string): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}`;

/** What a call needs. */
function needed({ name, detail }: Call): string {
  const [method = '', path = ''] = name.split(' ');
  const { query = {} } = (detail ?? {}) as { query?: Record<string, string> };
  const { verb, plural, subresource, group } = parseRequest(method, `${path}?${new URLSearchParams(query)}`);
  return right(verb, subresource === '' ? plural : `${plural}/${subresource}`, group);
}

/** Who applies what is not there yet needs the right to create it, too. */
const byApply: readonly string[] = [
  'create customresourcedefinitions.apiextensions.k8s.io',
  'create clusterprofiles.clusters.openmcp.cloud',
];

let reference: Reference;
beforeAll(async () => {
  reference = await undisturbed('127.42.109');
});

describe('the roles of config/rbac', () => {
  it('hold each right that a whole life uses: the API server refused nothing', () => {
    const used = new Set(reference.calls.map(needed));
    expect([...used].filter((one) => !given().includes(one))).toEqual([]);
  });

  it('hold no right that it does not use', () => {
    const used = new Set(reference.calls.map(needed));
    const spare = given().filter((one) => !used.has(one) && !byApply.includes(one));
    expect(spare).toEqual([]);
  });
});
