import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { accessRequestId, labels } from '../../../src/api/names.ts';
import { AccessRequest, type PermissionRule } from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '../../../src/kube/core-types.ts';
import { anyAccessRequest, invalidAccessRequest } from '../../support/arbitrary/access-request.ts';
import { propertyParameters, propertySeed } from '../../support/arbitrary/property-parameters.ts';
import { specSchema } from '../../support/arbitrary/schema-violations.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { openmcpCrds } from '../../world/operator/crds.ts';
import { listLabelled, openAdminClient } from '../support/access/workload-cluster.ts';
import { GeneratedObjects } from '../support/objects/generated-objects.ts';
import {
  awaitSubmissionResult,
  expectHelpfulMessage,
  expectNoErrorsLogged,
  readRejection,
  type SubmissionReader,
} from '../support/objects/submission-result.ts';
import { providerWrites, workloadWrites } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.132', speed: 20 });
const cluster = { namespace: 'shop', name: 'main' };
type Spec = AccessRequest['spec'];

let admin: KubeClient | undefined;
prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(cluster);
  await eventually('it is ready', async () => (await objects.getCluster(cluster)).status?.phase === 'Ready', 90);
  admin = await openAdminClient(open(), cluster);
});
afterAll(() => admin?.close());

const ref = (name: string) => ({ namespace: cluster.namespace, name });
const read: SubmissionReader<AccessRequest> = (request) =>
  request.status?.phase === 'Granted' ? { kind: 'served' } : readRejection(request, 'AccessReady', 'ClusterReady');
const requests = new GeneratedObjects<AccessRequest, Spec>(open, {
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

/** The objects in the cluster for one request, or for all of them. */
const madeFor = async (name?: string): Promise<string[]> => {
  if (!admin) throw new Error('the cluster is not ready');
  const id = name === undefined ? '' : `=${accessRequestId(open().environment, 'talos', ref(name))}`;
  return await listLabelled(admin, `${labels.access}${id}`);
};

type Rights = readonly string[];

const asText = (where: string | undefined, what: unknown): string => JSON.stringify([where ?? 'everywhere', what]);
const sparse = (rules: readonly PermissionRule[]): unknown[] =>
  rules.map((one) =>
    Object.entries(one)
      .filter(([, list]) => list?.length)
      .sort(),
  );

/** The rights that a spec names, each as its scope and the rules or the foreign role. */
const rightsIn = ({ token: { permissions = [], roleRefs = [] } = {} }: Spec): Rights =>
  [
    ...permissions.map(({ namespace, rules }) => asText(namespace, sparse(rules))),
    ...roleRefs.map(({ kind, name, namespace }) => asText(namespace, [kind, name])),
  ].sort();

/** The rights of the request's account, by the objects in the cluster. Fails where another subject has them too. */
async function rightsOf(name: string): Promise<Rights> {
  if (!admin) throw new Error('the cluster is not ready');
  const id = accessRequestId(open().environment, 'talos', ref(name));
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
  it('that is valid is granted: exactly the rights that it names, for one account and no other, until its deletion', async () => {
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
      propertyParameters('right AccessRequests', 180),
    );
  });

  requests.itRefusesBySchema(
    specSchema(openmcpCrds, 'AccessRequest'),
    () => anyAccessRequest(cluster),
    (spec) => spec,
    100,
  );
  requests.itRefusesByCondition(() => invalidAccessRequest(cluster), 180);

  it('that is invalid delays no other', async () => {
    const bad = fc.sample(invalidAccessRequest(cluster), { numRuns: 40, seed: propertySeed }).map(({ value }) => value);
    await requests.expectUndisturbed(asking({ name: 'good', rules: [rule] }), bad, workFor);
  });
});

/** The calls that write for a request: to the platform, and to the cluster. */
function workFor(calls: readonly InterceptedCall[], name: string): string[] {
  const id = accessRequestId(open().environment, 'talos', ref(name));
  const own = [...providerWrites(calls), ...workloadWrites(calls)].filter((call) =>
    [name, id, '/good'].some((word) => call.includes(word)),
  );
  return own.map((call) => call.replaceAll(name, '…').replaceAll(id, '…')).sort();
}

describe('a granted request that becomes invalid', () => {
  it.each([
    ['by an error of the cluster', { namespace: 'not-there', disableAutomaticNamespaceCreation: true, rules: [rule] }],
    ['by its own spec', { namespace: 'UPPER', rules: [rule] }],
  ])('keeps no right that it does not request any more: %s', async (_, wrong) => {
    await requests.serve(asking({ name: 'old', rules: [rule] }), async ({ metadata: { name } }) => {
      const { token } = asking({ name: 'new', ...wrong });
      const changed = await open().platform.merge(AccessRequest, ref(name), { spec: { token } });
      expectHelpfulMessage(
        await awaitSubmissionResult(open(), AccessRequest, changed, read),
        'spec.token.permissions[0]',
      );
      expect(await madeFor(name)).toEqual([expect.stringMatching(/^ServiceAccount /)]);
    });
  });
});

describe('after these tests', () => {
  it('nothing is left of the requests', async () => {
    expect(await madeFor()).toEqual([]);
    expect((await open().platform.list(AccessRequest)).items).toEqual([]);
  });

  it('the provider logs no fault of its own, and no message shows internals or a secret', () => {
    expectNoErrorsLogged(open());
    expect(findSecretLeaks(open())).toEqual([]);
  });
});
