import { X509Certificate } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { accessRoles } from '../../../src/commands/access/find-cluster-access.ts';
import { renderCertificateKubeconfig } from '../../../src/controllers/access-request/kubeconfig.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openTalosClient } from '../../../src/talos/client/client.ts';
import { createTalosCredentials } from '../../../src/talos/secrets/client-credentials.ts';
import { issueAdminCertificate } from '../../../src/talos/secrets/kubernetes-client-certificate.ts';
import type { SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { eventually } from '../../support/eventually.ts';
import { runProgram } from '../../support/run-program.ts';
import { askNodesWithTalosctl, describeWithTalosctl } from '../../talos/talosctl.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import { GrantedPoller } from '../support/access/granted-poller.ts';
import { clientFromKubeconfig, grantedKubeconfig, readSecretsBundle } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const isReal = missingForRealWorkload() === undefined;
const open = startTestbed({ subnet: '127.42.249', ...(isReal && { workload: 'real', timeScale: 0.004, speed: 5 }) });
const ref = { namespace: 'shop', name: 'web' };
const { granted } = accessHelpers(open, ref);
const reader = { namespace: 'shop', name: 'reader' };

const machines = () => open().objects.machines(ref);
const conditionOf = async (type: string) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find((one) => one.type === type);
const request = (authority: string) => open().objects.annotate(Cluster, ref, { [annotations.rotateCa]: authority });

/** The Events of the rotations in their order. */
async function story(): Promise<string[]> {
  const { items } = await open().platform.list(Event, {});
  return items
    .filter(({ reason }) => /^Rotation(Started|Progressed|Finished)$/.test(reason ?? ''))
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ message }) => message ?? '');
}

/** Waits until a rotation has ended. Returns the messages of its condition. */
async function awaitRotation(title: 'Talos' | 'Kubernetes'): Promise<string[]> {
  const messages = new Set<string>();
  await eventually(
    `the ${title} CA is rotated`,
    async () => {
      const condition = await conditionOf('CertificateAuthoritiesRotated');
      if (condition?.status === 'False') messages.add(condition.message);
      expect((await machines()).filter(({ status }) => status?.progress?.plan === 'update').length).toBeLessThan(2);
      return (
        condition?.status === 'True' && (await story()).some((text) => text.startsWith(`The ${title} CA was rotated`))
      );
    },
    300,
  );
  return [...messages];
}

/** Whether a node accepts a client of this bundle, and shows a certificate that such a client trusts. */
async function isAcceptedByNode(address: string, bundle: SecretsBundle): Promise<boolean> {
  const node = openTalosClient({ address, credentials: createTalosCredentials(bundle, systemClock) });
  return await succeeds(node.version()).finally(() => node.close());
}

/** The same of an API server. `trust`: the bundle that the client trusts, if it is another one. */
async function isAcceptedByApiServer(address: string, bundle: SecretsBundle, trust = bundle): Promise<boolean> {
  const pair = await issueAdminCertificate(bundle, { lifetimeSeconds: 600, now: new Date() });
  const server = { url: `https://${address}:6443`, ca: trust.authorities.kubernetes.certificate };
  const client = clientFromKubeconfig(renderCertificateKubeconfig(server, { context: 'web', user: 'admin' }, pair));
  return await succeeds(client.get(Namespace, { name: 'default' })).finally(() => client.close());
}

const succeeds = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => true,
    () => false,
  );

/** What a rotation does not change. */
const untouched = ({ authorities, serviceAccountKey, cluster, machineToken, bootstrapToken }: SecretsBundle) => ({
  etcd: authorities.etcd.key.reveal(),
  aggregator: authorities.aggregator.key.reveal(),
  serviceAccount: serviceAccountKey.reveal(),
  tokens: [cluster.id, machineToken.reveal(), bootstrapToken.reveal()],
});

const fingerprints = ({ authorities }: SecretsBundle) =>
  (['os', 'kubernetes'] as const).map((name) => new X509Certificate(authorities[name].certificate).fingerprint256);

let poller: GrantedPoller | undefined;
/** A talosconfig that was issued before the rotations. */
let formerTalosconfig = '';

async function issueTalosconfig(): Promise<string> {
  const kubeconfig = await open().kubeconfigWith(accessRoles.file);
  const { out } = await runProgram('talosconfig', '--cluster', 'shop/web', '--kubeconfig', kubeconfig);
  return out;
}

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 1 });
  await objects.cluster(ref);
  await eventually('it is up to date', async () => (await conditionOf('UpToDate'))?.status === 'True', 200);
  await granted(reader.name, { permissions: [{ rules: coreReadRules('configmaps') }] });
  formerTalosconfig = await issueTalosconfig();
  poller = new GrantedPoller(testbed, reader, '/api/v1/namespaces/default/configmaps');
});
afterAll(async () => await poller?.stop());

describe(`D56: the rotation of a certificate authority, ${isReal ? 'with real kube-apiservers' : 'simulated'}`, () => {
  it('replaces that of Talos: clients of the former one are refused by every node', async () => {
    const before = await readSecretsBundle(open(), ref);
    await request('talos');
    const messages = await awaitRotation('Talos');
    expect(messages.some((text) => /step 2 of 3: .* [123] of 4 machines have the configuration/.test(text))).toBe(true);
    const after = await readSecretsBundle(open(), ref);
    expect(await story()).toEqual([
      'The Talos CA is rotated, step 1 of 3: every node accepts the new one, and the former one still issues certificates.',
      'The Talos CA is rotated, step 2 of 3: the new one issues certificates, and the former one is still accepted.',
      'The Talos CA is rotated, step 3 of 3: the former one is removed.',
      'The Talos CA was rotated. Nothing that the former one has issued is accepted any more.',
    ]);
    for (const { status } of await machines())
      expect([
        await isAcceptedByNode(status?.address ?? '', after),
        await isAcceptedByNode(status?.address ?? '', before),
      ]).toEqual([true, false]);
    expect(untouched(after)).toEqual(untouched(before));
    expect(fingerprints(after)[1]).toBe(fingerprints(before)[1]);
    expect((await open().objects.getCluster(ref)).metadata.annotations?.[annotations.rotateCa]).toBeUndefined();
    expect(poller?.failures).toEqual([]);
  }, 400_000);

  it('replaces that of Kubernetes, while a client with granted access never meets a server that it does not trust', async () => {
    const before = await readSecretsBundle(open(), ref);
    const kubeconfig = await grantedKubeconfig(open(), reader);
    const answered = poller?.answered ?? 0;
    await request('kubernetes');
    await awaitRotation('Kubernetes');
    const after = await readSecretsBundle(open(), ref);
    for (const { status, spec } of await machines()) {
      if (spec.role !== 'controlplane') continue;
      const address = status?.address ?? '';
      expect([
        await isAcceptedByApiServer(address, after),
        await isAcceptedByApiServer(address, before, after),
        await isAcceptedByApiServer(address, after, before),
      ]).toEqual([true, false, false]);
    }
    expect(untouched(after)).toEqual(untouched(before));
    expect(fingerprints(after)[0]).toBe(fingerprints(before)[0]);
    const renewed = await grantedKubeconfig(open(), reader);
    const ca = (text: string) => /certificate-authority-data: (\S+)/.exec(text)?.[1];
    expect(ca(renewed)).toBe(Buffer.from(after.authorities.kubernetes.certificate).toString('base64'));
    expect(ca(renewed)).not.toBe(ca(kubeconfig));
    expect(poller?.failures).toEqual([]);
    expect(poller?.answered).toBeGreaterThan(answered + 100);
  }, 400_000);
});

describeWithTalosctl((talosctl) => {
  it('accepts the talosconfig that is issued after the rotation on every node, and none from before', async () => {
    const talosconfig = await issueTalosconfig();
    const addresses = (await machines()).flatMap(({ status }) => status?.address ?? []);
    expect(addresses).toHaveLength(4);
    for (const address of addresses) {
      const args = ['version', '--nodes', address];
      expect(await askNodesWithTalosctl(talosctl, talosconfig, args)).toContain('v1.13.9');
      await expect(askNodesWithTalosctl(talosctl, formerTalosconfig, args)).rejects.toThrow(
        /certificate signed by unknown authority|unknown certificate authority/,
      );
    }
  });
});
