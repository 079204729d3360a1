import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { accessId, labels } from '../../src/api/names.ts';
import { AccessRequest, type PolicyRule } from '../../src/api/openmcp.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '../../src/kube/core-types.ts';
import { anyAccessRequest, brokenAccessRequest } from '../support/arbitrary/access-request.ts';
import { trials } from '../support/arbitrary/property.ts';
import { specSchema } from '../support/arbitrary/schema-breaks.ts';
import { openmcpCrds } from '../world/operator/crds.ts';
import type { Call } from '../world/switchboard.ts';
import { eventually } from './support/eventually.ts';
import { Generated } from './support/generated.ts';
import { prepare, startStage } from './support/hooks.ts';
import { leaks } from './support/secrets.ts';
import { providerWrites, workloadWrites } from './support/traces.ts';
import { expectQuiet, expectSentence, type Reader, refusal, verdictOn } from './support/verdicts.ts';
import { adminOf, listMarked } from './support/workload.ts';

const open = startStage({ subnet: '127.42.132', speed: 20 });
const cluster = { namespace: 'shop', name: 'main' };
type Spec = AccessRequest['spec'];

let admin: KubeClient | undefined;
prepare(open, async ({ things }) => {
  await things.credentials();
  await things.config('home');
  await things.cluster(cluster);
  await eventually('it is ready', async () => (await things.getCluster(cluster)).status?.phase === 'Ready', 90);
  admin = await adminOf(open(), cluster);
});
afterAll(() => admin?.close());

const ref = (name: string) => ({ namespace: cluster.namespace, name });
const read: Reader<AccessRequest> = (request) =>
  request.status?.phase === 'Granted' ? { kind: 'served' } : refusal(request, 'AccessReady', 'ClusterReady');
const requests = new Generated<AccessRequest, Spec>(open, {
  type: AccessRequest,
  create: (spec, name) =>
    open().platform.create(AccessRequest, {
      apiVersion: 'clusters.openmcp.cloud/v1alpha1',
      kind: 'AccessRequest',
      metadata: ref(name),
      spec,
    }),
  read,
});

/** What stands in the cluster for a request, or for all of them. */
const madeFor = async (name?: string): Promise<string[]> => {
  if (!admin) throw new Error('the cluster is not ready');
  const id = name === undefined ? '' : `=${accessId(open().environment, 'talos', ref(name))}`;
  return await listMarked(admin, `${labels.access}${id}`);
};

type Rights = readonly string[];

const asText = (where: string | undefined, what: unknown): string => JSON.stringify([where ?? 'everywhere', what]);
const sparse = (rules: readonly PolicyRule[]): unknown[] =>
  rules.map((one) =>
    Object.entries(one)
      .filter(([, list]) => list?.length)
      .sort(),
  );

/** What a spec names, each as the place where it counts, and rules or the role of somebody else. */
const rightsIn = ({ token: { permissions = [], roleRefs = [] } = {} }: Spec): Rights =>
  [
    ...permissions.map(({ namespace, rules }) => asText(namespace, sparse(rules))),
    ...roleRefs.map(({ kind, name, namespace }) => asText(namespace, [kind, name])),
  ].sort();

/** What the account of a request can do by what stands in the cluster. Fails where anybody else can do it too. */
async function rightsOf(name: string): Promise<Rights> {
  if (!admin) throw new Error('the cluster is not ready');
  const id = accessId(open().environment, 'talos', ref(name));
  const [accounts, inPlaces, everywhere, roles, clusterRoles] = await Promise.all([
    admin.list(ServiceAccount, { labelSelector: `${labels.access}=${id}` }),
    admin.list(RoleBinding),
    admin.list(ClusterRoleBinding),
    admin.list(Role),
    admin.list(ClusterRole),
  ]);
  const owner = accounts.items.map(({ metadata }) => [metadata.namespace, metadata.name]);
  const bindings = [...inPlaces.items, ...everywhere.items].filter(({ metadata, subjects = [] }) => {
    const isMarked = metadata.labels?.[labels.access] === id;
    const isForOwner = subjects.some((one) => owner.some(([, account]) => one.name === account));
    if (isMarked || isForOwner) expect(subjects.map((one) => [one.namespace, one.name])).toEqual(owner);
    return isMarked || isForOwner;
  });
  return bindings
    .map(({ metadata: { namespace }, roleRef }) => {
      const among = roleRef.kind === 'Role' ? roles.items : clusterRoles.items;
      const own = among.find(
        ({ metadata }) =>
          metadata.name === roleRef.name &&
          metadata.labels?.[labels.access] === id &&
          (roleRef.kind === 'ClusterRole' || metadata.namespace === namespace),
      );
      return asText(namespace, own ? sparse(own.rules ?? []) : [roleRef.kind, roleRef.name]);
    })
    .sort();
}

const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const asking = (...permissions: object[]): Spec => ({
  clusterRef: cluster,
  token: { permissions: permissions as never },
});

describe('a generated AccessRequest', () => {
  it('that is right is granted: exactly the rights that it names, for one account and nobody else, until it goes', async () => {
    await fc.assert(
      fc.asyncProperty(anyAccessRequest(cluster), async (spec) => {
        const name = requests.freshName();
        const { permissions = [], roleRefs = [] } = spec.token ?? {};
        const count = 1 + 2 * permissions.length + roleRefs.length;
        const examine = async () => {
          expect(await madeFor(name)).toHaveLength(count);
          expect(await rightsOf(name)).toEqual(rightsIn(spec));
        };
        await requests.serve(spec, examine, name);
        expect(await madeFor(name)).toEqual([]);
      }),
      trials('right AccessRequests', 180),
    );
  });

  requests.itRefusesBySchema(
    specSchema(openmcpCrds, 'AccessRequest'),
    () => anyAccessRequest(cluster),
    (spec) => spec,
    100,
  );
  requests.itRefusesByCondition(() => brokenAccessRequest(cluster), 180);

  it('that cannot be granted stands in nobody’s way', async () => {
    const bad = fc.sample(brokenAccessRequest(cluster), { numRuns: 40 }).map(({ value }) => value);
    await requests.expectUndisturbed(asking({ name: 'good', rules: [rule] }), bad, workFor);
  });
});

/** What is written for a request: at the platform, and in the cluster. */
function workFor(calls: readonly Call[], name: string): string[] {
  const id = accessId(open().environment, 'talos', ref(name));
  const own = [...providerWrites(calls), ...workloadWrites(calls)].filter((call) =>
    [name, id, '/good'].some((word) => call.includes(word)),
  );
  return own.map((call) => call.replaceAll(name, '…').replaceAll(id, '…')).sort();
}

describe('a request that was granted and becomes one that cannot be', () => {
  it.each([
    ['by what the cluster says', { namespace: 'not-there', disableAutomaticNamespaceCreation: true, rules: [rule] }],
    ['as it is written', { namespace: 'UPPER', rules: [rule] }],
  ])('keeps no right that it does not ask for any more: %s', async (_, wrong) => {
    await requests.serve(asking({ name: 'old', rules: [rule] }), async ({ metadata: { name } }) => {
      const { token } = asking({ name: 'new', ...wrong });
      const changed = await open().platform.merge(AccessRequest, ref(name), { spec: { token } });
      expectSentence(await verdictOn(open(), AccessRequest, changed, read), 'spec.token.permissions[0]');
      expect(await madeFor(name)).toEqual([expect.stringMatching(/^ServiceAccount /)]);
    });
  });
});

describe('after all that', () => {
  it('nothing is left of them', async () => {
    expect(await madeFor()).toEqual([]);
    expect((await open().platform.list(AccessRequest)).items).toEqual([]);
  });

  it('nothing was a fault, nothing shows the insides of the program, and no secret came out', () => {
    expectQuiet(open());
    expect(leaks(open())).toEqual([]);
  });
});
