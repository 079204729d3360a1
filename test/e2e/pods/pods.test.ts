import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { missingPeers } from '../../peers/find-peer.ts';
import { missingUpstreamCrds, upstreamCrds } from '../../peers/openmcp-operator.ts';
import type { PeerProcess } from '../../peers/peer-process.ts';
import { missingForPods } from '../../peers/pods/find-programs.ts';
import { missingForNetworkPolicies, startKubeRouterBeside } from '../../peers/pods/kube-router.ts';
import { podNetwork } from '../../peers/pods/node-files.ts';
import { startOperatorBeside } from '../../peers/pods/operator-beside.ts';
import { repository } from '../../peers/pods/product-image.ts';
import { type RealPods, startRealPods } from '../../peers/pods/real-pods.ts';
import { projectRoot } from '../../setup/generated-files.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { connectFromPod, listenBeside, startIdlePod } from './connections.ts';
import { networkPolicyValues, scrapers } from './network-policy-values.ts';
import { startSimulatorsBeside } from './simulators-beside.ts';

const namespace = 'chart';
const chart = join(projectRoot, 'charts/cluster-provider-talos');
const labels = 'app.kubernetes.io/instance=talos';

/** The cluster of the samples takes half a minute more, so `npm test` leaves it to CI. */
const isThorough = process.env['CI'] === 'true';

interface Pod {
  readonly name: string;
  readonly image: string;
  readonly address: string;
  readonly restarts: number;
  /** Of the container that runs. */
  readonly container: string;
}

describeUnlessMissing('as real Pods', missingForPods(), () => {
  let pods: RealPods;
  let policy: string;
  let enforcer: PeerProcess | undefined;
  beforeAll(async () => {
    pods = await startRealPods();
    policy = await networkPolicyValues(pods);
    if (!missingForNetworkPolicies()) enforcer = startKubeRouterBeside(pods);
    await pods.kubectl('create', 'namespace', namespace);
    await pods.kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted');
  });
  afterAll(async () => {
    await enforcer?.stop();
    await pods?.close();
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(async () => {
      const seen = await pods.kubectl('get', 'pods,events', '-A').catch(String);
      process.stderr.write(`${seen}\n${pods.logs()}\n${enforcer?.tail()}\n`);
    });
  });

  const settings = (tag: string): string[] => [
    ...['talos', chart, `--namespace=${namespace}`, '--wait', '--timeout=180s'],
    `--set=image.tag=${tag},image.pullPolicy=Never,environment=demo,replicas=2,withOpenmcpCrds=true`,
    policy,
  ];
  const release = async (): Promise<readonly Pod[]> => {
    const { items } = JSON.parse(await pods.kubectl('get', 'pods', '-n', namespace, '-l', labels, '-o', 'json'));
    // biome-ignore lint/suspicious/noExplicitAny: of a Pod we read little
    return items.map(({ metadata, spec, status }: any) => {
      const [{ containerID, restartCount }] = status.containerStatuses;
      const { name } = metadata;
      const [{ image }] = spec.containers;
      return { name, image, address: status.podIP, restarts: restartCount, container: containerID };
    });
  };
  /** The identity in the Lease: the name of the Pod, and a part that each process chooses. */
  const leader = async (): Promise<string> => {
    const path = 'jsonpath={.items[0].spec.holderIdentity}';
    const identity = await pods.kubectl('get', 'leases', '-n', namespace, '-o', path);
    expect(identity).not.toBe('');
    return identity;
  };

  it('run in a namespace that enforces the Pod Security Standard restricted, where others are rejected', async () => {
    await pods.helm('install', ...settings(pods.image.tags.current));
    expect(await release()).toHaveLength(2);
    const root = ['run', 'root', `--namespace=${namespace}`, `--image=${repository}:${pods.image.tags.current}`];
    await expect(pods.kubectl(...root)).rejects.toThrow(/violates PodSecurity "restricted/);
  });

  it('pass helm test, which leaves nothing behind', async () => {
    const text = await pods.helm('test', 'talos', `--namespace=${namespace}`, '--logs');
    expect(text).toMatch(/:8081\/readyz says that the provider is ready\.$/m);
    expect(await pods.kubectl('get', 'pods,services', '-n', namespace, '-o', 'name')).not.toContain('-test');
  });

  describeUnlessMissing('with a NetworkPolicy', missingForNetworkPolicies(), () => {
    const allowed = 50_000;
    const other = 50_001;

    it('reach the ports of the values, and no others', async () => {
      await listenBeside(pods, [allowed, other]);
      for (const { name } of await release()) {
        const to = async (port: number) =>
          await connectFromPod(pods, { namespace, name }, { host: podNetwork.node, port });
        expect(await to(allowed)).toBe('connected');
        expect(await to(other)).toBe('ECONNREFUSED');
      }
    });

    it('serve metrics to the namespace of the values only, and probes to all', async () => {
      const [scraper, stranger] = [await startIdlePod(pods, scrapers), await startIdlePod(pods, 'elsewhere')];
      const [pod] = await release();
      const host = pod?.address ?? '';
      const reach = async (from: typeof scraper, port: number) => await connectFromPod(pods, from, { host, port });
      await eventually('the new Pod is known', async () => (await reach(scraper, 8080)) === 'connected', 30);
      expect(await reach(stranger, 8080)).toBe('ECONNREFUSED');
      expect(await reach(stranger, 8081)).toBe('connected');
    });
  });

  it('fail over to the standby when the leader is killed, whose container restarts', async () => {
    const old = await eventually('there is a leader', leader);
    const before = await release();
    const killed = before.find(({ name }) => old.startsWith(name));
    const standby = before.find(({ name }) => name !== killed?.name);
    await pods.kill(killed?.container ?? '');
    await eventually('the standby leads', async () => (await leader()).startsWith(`${standby?.name}_`), 30);
    const ready = ['wait', 'pods', '-l', labels, '--for=condition=Ready', '--timeout=60s'];
    await pods.kubectl(...ready, `--namespace=${namespace}`);
    const restarts = Object.fromEntries((await release()).map((pod) => [pod.name, pod.restarts]));
    // On a busy machine a leader may have lost its Lease before, and restarted for it.
    const expected = { [`${killed?.name}`]: Number(killed?.restarts) + 1, [`${standby?.name}`]: standby?.restarts };
    expect(restarts).toEqual(expected);
  });

  it('provision the cluster of the samples, on a simulated NAS in their network', async ({ skip }) => {
    if (!isThorough) return skip('It takes half a minute more: set CI=true.');
    const [secret, config] = await startSimulatorsBeside(pods);
    await pods.apply({ ...secret, metadata: { name: 'truenas', namespace } });
    await pods.apply(config);
    await pods.kubectl('create', 'namespace', 'team-a');
    await pods.kubectl('apply', '-f', join(projectRoot, 'config/samples/cluster.yaml'));
    const wait = ['wait', 'cluster/first', '--for=condition=Ready', '--timeout=180s', '--namespace=team-a'];
    await pods.kubectl(...wait).catch(async (error) => {
      throw new Error(`${error}\n${await pods.kubectl('get', 'tpc,tm', '-A')}`);
    });
  });

  it('are upgraded together with their CRDs', async () => {
    const crd = ['crd', 'machines.talos.clusters.openmcp.cloud'];
    const columns = async () =>
      await pods.kubectl('get', ...crd, '-o', 'jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}');
    const before = await columns();
    expect(before).not.toBe('');
    // As an earlier release had it.
    const patch = JSON.stringify([{ op: 'remove', path: '/spec/versions/0/additionalPrinterColumns' }]);
    await pods.kubectl('patch', ...crd, '--type=json', `--patch=${patch}`);
    await pods.helm('upgrade', ...settings(pods.image.tags.next));
    expect(await columns()).toBe(before);
    const next = `${repository}:${pods.image.tags.next}`;
    await eventually('both Pods are new', async () => {
      expect((await release()).map(({ image }) => image)).toEqual([next, next]);
      return true;
    });
  });

  it('end when the release is uninstalled, which keeps the kinds', async () => {
    await pods.helm('uninstall', 'talos', `--namespace=${namespace}`, '--wait', '--timeout=120s');
    await eventually('no Pod is left', async () => (await release()).length === 0);
    expect(await pods.kubectl('get', 'crds', '-o', 'name')).toMatch(/providerconfigs\.talos\.clusters\.openmcp\.cloud/);
  });

  describeUnlessMissing('and by the operator', missingPeers('openmcp-operator') ?? missingUpstreamCrds(), () => {
    let operator: PeerProcess;
    beforeAll(async () => {
      await pods.kubectl('create', 'namespace', 'openmcp-system');
      for (const crd of upstreamCrds('clusters.openmcp.cloud', 'openmcp.cloud')) await pods.apply(crd);
      operator = startOperatorBeside(pods, { namespace: 'openmcp-system', environment: 'demo' });
    });
    afterAll(async () => await operator?.stop());

    it('are initialised and run for a ClusterProvider', async () => {
      await pods.apply({
        apiVersion: 'openmcp.cloud/v1alpha1',
        kind: 'ClusterProvider',
        metadata: { name: 'talos' },
        spec: { image: `${repository}:${pods.image.tags.current}`, verbosity: 'INFO' },
      });
      const wait = ['wait', 'clusterprovider/talos', '--for=jsonpath={.status.phase}=Ready', '--timeout=120s'];
      await pods.kubectl(...wait).catch((error) => {
        throw new Error(`${error}\n${operator.tail()}`);
      });
      const phases = 'jsonpath={.items[*].status.phase}';
      const seen = await pods.kubectl('get', 'pods', '-n', 'openmcp-system', '-o', phases);
      expect(seen.split(' ').sort()).toEqual(['Running', 'Succeeded']);
    });
  });

  describe('of an image', () => {
    it('that is small: below 250 MB', () => {
      expect(pods.image.bytes).toBeLessThan(250_000_000);
    });
  });
});
