import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { accessId, labels } from '../../src/api/names.ts';
import { AccessRequest } from '../../src/api/openmcp.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { anyAccessRequest, brokenAccessRequest } from '../support/arbitrary/access-request.ts';
import { trials } from '../support/arbitrary/property.ts';
import { brokenBySchema, specSchema } from '../support/arbitrary/schema-breaks.ts';
import { openmcpCrds } from '../world/operator/crds.ts';
import { eventually } from './support/eventually.ts';
import { prepare, startStage } from './support/hooks.ts';
import { leaks } from './support/secrets.ts';
import { providerWrites, workloadWrites } from './support/traces.ts';
import {
  discard,
  expectQuiet,
  expectSentence,
  judge,
  type Reader,
  refusal,
  type Verdict,
  verdictOn,
} from './support/verdicts.ts';
import { adminOf, listMarked } from './support/workload.ts';

const open = startStage({ subnet: '127.42.132', speed: 50 });
const cluster = { namespace: 'shop', name: 'main' };
const schema = specSchema(openmcpCrds, 'AccessRequest');
type Spec = AccessRequest['spec'];

let admin: KubeClient | undefined;
prepare(open, async ({ things }) => {
  await things.credentials();
  await things.config('home');
  await things.cluster(cluster);
  await eventually('it is ready', async () => (await things.getCluster(cluster)).status?.phase === 'Ready', 90);
  admin = await adminOf(open(), cluster);
});

const counts = new Map<string, number>();
afterAll(async () => {
  process.stdout.write(` AccessRequests: ${[...counts].map(([what, n]) => `${n} ${what}`).join(', ')}\n`);
  await admin?.close();
});

const ref = (name: string) => ({ namespace: cluster.namespace, name });
const create = (name: string, spec: Spec): Promise<AccessRequest> =>
  open().platform.create(AccessRequest, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'AccessRequest',
    metadata: ref(name),
    spec,
  });

/** What stands in the cluster for a request, or for all of them. */
const madeFor = async (name?: string): Promise<string[]> => {
  if (!admin) throw new Error('the cluster is not ready');
  const id = name === undefined ? '' : `=${accessId(open().environment, 'talos', ref(name))}`;
  return await listMarked(admin, `${labels.access}${id}`);
};

function tally(verdict: Verdict): Verdict {
  const what = verdict.kind === 'served' ? 'granted' : `refused by the ${verdict.by}`;
  counts.set(what, (counts.get(what) ?? 0) + 1);
  return verdict;
}

const read: Reader<AccessRequest> = (request) =>
  request.status?.phase === 'Granted' ? { kind: 'served' } : refusal(request, 'AccessReady', 'ClusterReady');

/** Every object of its own name: a cluster remembers for a moment. */
function* names(word: string): Generator<string, never> {
  for (let n = 1; ; n += 1) yield `${word}-${n}`;
}
const fresh = names('generated');

const submit = async (spec: Spec): Promise<Verdict> =>
  tally(await judge(open(), AccessRequest, () => create(fresh.next().value, spec), read));

describe('a generated AccessRequest', () => {
  it('that is right is granted, with one object for each thing that it asks for, until it goes', async () => {
    await fc.assert(
      fc.asyncProperty(anyAccessRequest(cluster), async (spec) => {
        const name = fresh.next().value;
        const made = await create(name, spec);
        try {
          expect(tally(await verdictOn(open(), AccessRequest, made, read))).toEqual({ kind: 'served' });
          const { permissions = [], roleRefs = [] } = spec.token ?? {};
          expect(await madeFor(name)).toHaveLength(1 + 2 * permissions.length + roleRefs.length);
        } finally {
          await discard(open(), AccessRequest, made);
        }
        expect(await madeFor(name)).toEqual([]);
      }),
      trials('right AccessRequests', 30),
    );
  });

  it('that does not fit the schema is refused by the API server, which names the field', async () => {
    await fc.assert(
      fc.asyncProperty(brokenBySchema(anyAccessRequest(cluster), schema), async ({ value, field }) => {
        const verdict = await submit(value);
        expect(verdict).toMatchObject({ by: 'api' });
        expectSentence(verdict, field);
      }),
      trials('AccessRequests that do not fit the schema', 40),
    );
  });

  it('that fits the schema and cannot be granted is refused by a condition, which names the field', async () => {
    await fc.assert(
      fc.asyncProperty(brokenAccessRequest(cluster), async ({ value, field }) => {
        const verdict = await submit(value);
        expect(verdict).toMatchObject({ by: 'provider' });
        expectSentence(verdict, field);
      }),
      trials('AccessRequests that fit the schema', 60),
    );
  });

  it('that cannot be granted stands in nobody’s way', async () => {
    const alone = await workFor('alone');
    const bad = fc.sample(brokenAccessRequest(cluster), { numRuns: 40 });
    const made = await Promise.all(bad.map(({ value }, i) => create(`bad-${i}`, value)));
    try {
      expect(await workFor('among')).toEqual(alone);
    } finally {
      await Promise.all(made.map((one) => discard(open(), AccessRequest, one)));
    }
  });
});

/** What is written for a good request until it is granted: at the platform, and in the cluster. */
async function workFor(name: string): Promise<string[]> {
  const { calls, environment } = open();
  const first = calls.length;
  const permission = { name, rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] };
  const made = await create(name, { clusterRef: cluster, token: { permissions: [permission] } });
  expect(await verdictOn(open(), AccessRequest, made, read)).toEqual({ kind: 'served' });
  const during = calls.slice(first);
  await discard(open(), AccessRequest, made);
  const id = accessId(environment, 'talos', ref(name));
  const own = [...providerWrites(during), ...workloadWrites(during)].filter(
    (call) => call.includes(name) || call.includes(id),
  );
  return own.map((call) => call.replaceAll(name, '…').replaceAll(id, '…')).sort();
}

describe('a request that was granted and becomes one that cannot be', () => {
  const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };

  it.each([
    ['by what the cluster says', { namespace: 'not-there', disableAutomaticNamespaceCreation: true, rules: [rule] }],
    ['as it is written', { namespace: 'UPPER', rules: [rule] }],
  ])('keeps no right that it does not ask for any more: %s', async (_, wrong) => {
    const name = fresh.next().value;
    const made = await create(name, { clusterRef: cluster, token: { permissions: [{ name: 'old', rules: [rule] }] } });
    expect(await verdictOn(open(), AccessRequest, made, read)).toEqual({ kind: 'served' });
    const spec = { token: { permissions: [{ name: 'new', ...wrong }] } };
    const changed = await open().platform.merge(AccessRequest, ref(name), { spec });
    expectSentence(await verdictOn(open(), AccessRequest, changed, read), 'spec.token.permissions[0]');
    expect(await madeFor(name)).toEqual([expect.stringMatching(/^ServiceAccount /)]);
    await discard(open(), AccessRequest, made);
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
