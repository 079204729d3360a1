import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, clusterSecretsName } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Namespace, Secret } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openTalosClient } from '../../../src/talos/client/client.ts';
import { createTalosCredentials } from '../../../src/talos/secrets/client-credentials.ts';
import { toBase64 } from '../../../src/talos/secrets/pem.ts';
import type { SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../../src/talos/secrets/secrets-bundle-file.ts';
import { eventually } from '../../support/eventually.ts';
import { readSecretsBundle, withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** What holds up a rotation of certificate authorities, and what goes on meanwhile. */

const open = startTestbed({ subnet: '127.42.251' });
const ref = { namespace: 'shop', name: 'web' };

/** Nothing answers there: only whether a backup is asked for matters here. */
const backup = {
  schedule: '0 3 * * *',
  recipients: ['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
  s3: { endpoint: 'https://127.0.0.1:9', bucket: 'backups', credentialsRef: { name: 's3' } },
};

/** A workload that holds up every change of a node, so that a rotation stands in its first step. */
const absent = { kind: 'Deployment', namespace: 'default', name: 'absent' };

const machines = () => open().objects.machines(ref);
const annotate = (notes: Record<string, string | null>) => open().objects.annotate(Cluster, ref, notes);
const condition = async () =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(
    ({ type }) => type === 'CertificateAuthoritiesRotated',
  );
const says = (reason: string, text: RegExp) =>
  eventually(`the condition says ${text}`, async () => {
    const found = await condition();
    return found?.reason === reason && text.test(found.message);
  });
const events = async () =>
  (await open().platform.list(Event, {})).items.filter(({ reason }) =>
    /^Rotation(Started|Progressed|Finished)$/.test(reason ?? ''),
  ).length;

async function isAccepted(machine: Machine, bundle: SecretsBundle): Promise<boolean> {
  const credentials = createTalosCredentials(bundle, systemClock);
  const node = openTalosClient({ address: machine.status?.address ?? '', credentials });
  return await node
    .version()
    .then(
      () => true,
      () => false,
    )
    .finally(() => node.close());
}

const worker = async (): Promise<Machine> => {
  const found = (await machines()).find(({ spec }) => spec.role === 'worker' && spec.slot === 0);
  if (!found) throw new Error('there is no worker');
  return found;
};

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    ...{ controlPlanes: 1, workers: 1 },
    change: (spec) => {
      Object.assign(spec.workerPools?.[0] ?? {}, { minReplicas: 1, maxReplicas: 3 });
      Object.assign(spec, { backup, rollout: { healthChecks: [absent] } });
      spec.talos['version'] = '1.14.0';
    },
  });
  await objects.cluster(ref);
  await eventually(
    'it is up to date',
    async () => isConditionTrue((await objects.getCluster(ref)).status?.conditions, 'UpToDate'),
    200,
  );
});

describe('a rotation', () => {
  let before: SecretsBundle;

  it('does not begin for an unknown authority, nor while changes are paused', async () => {
    before = await readSecretsBundle(open(), ref);
    await annotate({ [annotations.rotateCa]: 'etcd' });
    await says('RotationRefused', /"etcd" is unknown .* Use talos or kubernetes/);
    await annotate({ [annotations.rotateCa]: 'talos', [annotations.rollout]: 'pause' });
    await says(
      'RolloutPaused',
      /^The rotation of the Talos CA has not begun\. The annotation rollout of Cluster web is pause/,
    );
    expect(await events()).toBe(0);
  });

  it('waits in its step while it is paused, and what is handed out works; another request is told to wait', async () => {
    await annotate({ [annotations.rollout]: null });
    await eventually('it has begun', async () => (await events()) > 0);
    await annotate({ [annotations.rollout]: 'pause' });
    await says('Rotating', /step 1 of 3: .*is pause/);
    const bundle = await readSecretsBundle(open(), ref);
    expect(bundle.accepted?.os).toHaveLength(1);
    const { status } = await open().objects.getCluster(ref);
    expect(status?.providerStatus?.['rotation']).toEqual({
      ...{ authority: 'talos', phase: 'accept' },
      startedAt: expect.stringMatching(/^20.*Z$/),
    });
    for (const machine of await machines()) expect(await isAccepted(machine, bundle)).toBe(true);
    await annotate({ [annotations.rotateCa]: 'kubernetes' });
    await says('Rotating', /step 1 of 3: .* The rotation of the Kubernetes CA begins after that\.$/);
  });

  it('waits for a node that is away, and for a new one, which gets the authorities of the step', async () => {
    const { name } = (await worker()).metadata;
    await open().objects.annotate(Machine, { name }, { [annotations.maintenance]: 'true' });
    const node = open()
      .world.machines.nodes()
      .find(({ hostname }) => hostname === name);
    await open().world.truenas.powerOff((node?.name ?? '').replace(/^\d+_/, ''));
    await open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { rollout: { healthChecks: [] } } });
    await annotate({ [annotations.rollout]: null });
    await says(
      'Rotating',
      /step 1 of 3: .* 0 of 2 machines have the configuration\. web-\S+ is not (up to date|ready)/,
    );
    await eventually('the Machine says what it lacks', async () => {
      const message = (await worker()).status?.conditions?.find(({ type }) => type === 'UpToDate')?.message;
      return message?.startsWith('Does not have the certificate authorities of this step of their rotation yet.');
    });
    const [pool] = (await open().platform.list(NodePool, {})).items;
    await open().platform.merge(NodePool, { name: pool?.metadata.name ?? '' }, { spec: { replicas: 2 } });
    const added = await eventually(
      'another worker has joined',
      async () => {
        const found = (await machines()).find(({ spec }) => spec.role === 'worker' && spec.slot === 1);
        return isConditionTrue(found?.status?.conditions, 'Ready') && found;
      },
      200,
    );
    expect(await isAccepted(added, await readSecretsBundle(open(), ref))).toBe(true);
    await says('Rotating', /step 1 of 3: /);
    expect(await events()).toBe(1);
  });

  it('goes on when the node is back, and the other one follows it', async () => {
    await open().objects.annotate(
      Machine,
      { name: (await worker()).metadata.name },
      { [annotations.maintenance]: null },
    );
    await eventually(
      'both are finished',
      async () => (await condition())?.status === 'True' && (await events()) === 8,
      300,
    );
    const after = await readSecretsBundle(open(), ref);
    const asked = open()
      .recorder.of(Cluster)
      .filter(({ object }) => object.metadata.annotations?.[annotations.takeBackup] === 'now');
    expect(asked.length).toBeGreaterThan(0);
    expect(await machines()).toHaveLength(3);
    for (const machine of await machines())
      expect([await isAccepted(machine, after), await isAccepted(machine, before)]).toEqual([true, false]);
    expect(after.authorities.kubernetes.certificate).not.toBe(before.authorities.kubernetes.certificate);
    await withAdminClient(open(), ref, (admin) => admin.get(Namespace, { name: 'default' }));
  }, 320_000);

  it('makes a Secret from before useless, and the Cluster says so', async () => {
    const { platform, namespace, objects } = open();
    const key = { namespace, name: clusterSecretsName(ref) };
    const { data } = await platform.get(Secret, key);
    const isReady = async () =>
      (await objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'SecretsReady');
    await platform.merge(Secret, key, { data: { 'secrets.yaml': toBase64(formatSecretsBundle(before).reveal()) } });
    await eventually('it is refused', async () => (await isReady())?.reason === 'SecretsDiffer');
    await platform.merge(Secret, key, { data });
    await eventually('it is ready again', async () => (await isReady())?.status === 'True');
  });
});
