import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { parseRequestInfo } from '../../world/kube/request/request-info.ts';
import { runUndisturbed } from './scenario-run.ts';
import { nasLifecycle } from './scenarios/nas-lifecycle.ts';
import { robotLifecycle } from './scenarios/robot-lifecycle.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Every right in `config/rbac`, as `verb resource.group`. */
function given(): string[] {
  const roles = parseAllDocuments(readFileSync('config/rbac/role.yaml', 'utf8')).map((document) => document.toJS());
  const rules = (roles as { rules: Rule[] }[]).flatMap((role) => role.rules);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => right(verb, resource, group)))),
  );
}

const right = (verb: string, resource: string, group: string): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}`;

/** The rights that a call needs. */
function needed({ name, detail }: InterceptedCall): string {
  const [method = '', path = ''] = name.split(' ');
  const { query = {} } = (detail ?? {}) as { query?: Record<string, string> };
  const { verb, plural, subresource, group } = parseRequestInfo(method, `${path}?${new URLSearchParams(query)}`);
  return right(verb, subresource === '' ? plural : `${plural}/${subresource}`, group);
}

/** Server-side apply of an object that does not exist needs the right to create it, too. */
const byApply: readonly string[] = [
  'create customresourcedefinitions.apiextensions.k8s.io',
  'create clusterprofiles.clusters.openmcp.cloud',
  'create validatingadmissionpolicies.admissionregistration.k8s.io',
  'create validatingadmissionpolicybindings.admissionregistration.k8s.io',
];

/** Rights of metrics scrapers; `test/contracts/metrics-access.test.ts` uses only these. */
const byScrapers: readonly string[] = [
  'create tokenreviews.authentication.k8s.io',
  'create subjectaccessreviews.authorization.k8s.io',
];

/** For viewers of the status page; `test/e2e/status-page` uses it. */
const byViewers: readonly string[] = ['list events'];

/** With `spec.publish.clusterProfile`; `test/e2e/publish` uses them. */
const byPublication: readonly string[] = [
  ...['get', 'create', 'patch', 'delete'].map((verb) => `${verb} clusterprofiles.multicluster.x-k8s.io`),
  'patch clusterprofiles/status.multicluster.x-k8s.io',
];

/** Of a NodePool that a provider created before it was killed. */
const afterKill: readonly string[] = ['get nodepools.talos.clusters.openmcp.cloud'];

/** Rights that the lifecycles of Clusters use, on VMs and on bare servers. */
let used: ReadonlySet<string>;
beforeAll(async () => {
  const lives = await Promise.all([
    runUndisturbed('127.42.109', nasLifecycle),
    runUndisturbed('127.42.170', robotLifecycle),
  ]);
  used = new Set(lives.flatMap(({ calls }) => calls.map(needed)));
});

describe('the roles of config/rbac', () => {
  it('hold each right that a whole lifecycle uses: the API server rejected nothing', () => {
    expect([...used].filter((one) => !given().includes(one))).toEqual([]);
  });

  it('hold no unused right', () => {
    const unassigned = given().filter(
      (one) =>
        !used.has(one) && ![...byApply, ...byScrapers, ...byViewers, ...byPublication, ...afterKill].includes(one),
    );
    expect(unassigned).toEqual([]);
  });
});
