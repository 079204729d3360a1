import { Agent } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildCrds } from '../../../src/api/crd.ts';
import { ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { CustomResourceDefinition, Secret } from '../../../src/kube/core-types.ts';
import { objectKeyOf } from '../../../src/kube/resource.ts';
import { createTestAuthority } from '../../peers/test-authority.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { KubePod } from '../support/kubelet/pod-types.ts';
import type { PodWorker } from '../support/kubelet/pod-worker.ts';
import {
  clusterProviderKey,
  imageReference,
  lastProcessOf,
  metricsArguments,
  missingForDeployment,
  startDeployedProvider,
} from '../support/operator/deployed-provider.ts';
import { ClusterProvider, isControllerPod } from '../support/operator/operator-kinds.ts';

const missing = await missingForDeployment(253);
if (missing) it('the operator changes this provider', ({ skip }) => skip(missing));
else describe('a deployed provider whose ClusterProvider is changed', changed);

function changed(): void {
  const at = startDeployedProvider({ subnet: '127.42.168', firstPod: 102 });
  const crdKey = { name: buildCrds()[0]?.metadata.name ?? '' };

  beforeAll(async () => {
    const { objects } = at().testbed;
    await at().install();
    await at().isDeployed();
    await objects.credentials();
    await objects.config('home', { pool: [10, 49] });
    await eventually('its profile is there', () => objects.exists(ClusterProfile, { name: 'test.talos.home' }));
  });

  it('C1, C5, C6: rolls out to a second version, and while both are alive only one acts', async () => {
    const { objects, platform } = at().testbed;
    const during: NamespacedRef = { namespace: 'team-a', name: 'during' };
    const first = await at().theRunning();
    // A remnant of an older version, for the new init.
    await platform.merge(CustomResourceDefinition, crdKey, { spec: { names: { shortNames: ['older'] } } });
    const speak = at().kubelet.fallSilent(isControllerPod);
    await at().change({ image: imageReference('0.2.0') });
    const second = await eventually('the second is alive', () =>
      at()
        .running()
        .find((pod) => pod !== first),
    );
    await at().isWell(second);
    await objects.cluster(during);
    await eventually('it is under way', async () => {
      const [machine] = await objects.machines(during);
      return machine !== undefined && machine.status?.phase !== undefined;
    });
    expect(at().running()).toEqual([first, second]);
    expect(await at().witness.leader()).toBe(first);
    expect(at().witness.changesOf(second)).toEqual([]);
    expect((await objects.getCluster(during)).status?.phase).toBe('Progressing');
    expect((await at().ask(second, ':8080/metrics')).text).toMatch(
      /^leader_election_master_status\{name="leader"\} 0$/m,
    );
    speak();
    await at().isDeployed();
    await at().isReady(during);
    expect(await at().theRunning()).toBe(second);
    expect(second.pod.spec.containers[0]?.image).toBe(imageReference('0.2.0'));
    expect(lastProcessOf(first).exitCode).toBe(0);
    expect(await at().witness.leader()).toBe(second);
    expect(at().witness.changesOf(second)).not.toEqual([]);
    expect(at().witness.violations()).toEqual([]);
    const crd = await platform.get(CustomResourceDefinition, crdKey);
    expect(crd.spec['names']).toMatchObject(buildCrds()[0]?.spec['names'] as object);
  });

  it('C6: does not touch a kind of ours that is not for the platform cluster, and run continues until the conflict is resolved', async () => {
    const { platform } = at().testbed;
    const label = (value: string | null) => ({ metadata: { labels: { 'openmcp.cloud/cluster': value } } });
    const before = await at().theRunning();
    const { metadata } = await platform.merge(CustomResourceDefinition, crdKey, label('onboarding'));
    await at().change({ env: [{ name: 'SITE', value: 'the attic' }] });
    const refused = await eventually('an init has failed', () =>
      at()
        .inits()
        .find(({ phase }) => phase === 'Failed'),
    );
    expect(lastProcessOf(refused).exitCode).toBe(1);
    expect(lastProcessOf(refused).lines.join()).toContain(
      'has the value onboarding of the label openmcp.cloud/cluster',
    );
    expect((await platform.get(CustomResourceDefinition, crdKey)).metadata.generation).toBe(metadata.generation);
    expect(at().running()).toEqual([before]);
    await platform.merge(CustomResourceDefinition, crdKey, label('platform'));
    await at().isDeployed();
    await at().theRunning(({ env = [] }) => env.some(({ name, value }) => name === 'SITE' && value === 'the attic'));
    expect(lastProcessOf(before).exitCode).toBe(0);
  });

  it('runs unchanged during the rollout of a version that does not exist, and then changes to one that does', async () => {
    const before = await at().theRunning();
    await at().change({ image: imageReference('9.9.9') });
    await eventually('its init cannot begin', async () => {
      const pods = await Promise.all(
        at()
          .inits()
          .map(({ pod }) => at().testbed.platform.find(KubePod, objectKeyOf(pod))),
      );
      const waiting = pods.map((pod) => pod?.status?.containerStatuses?.[0]?.state.waiting?.reason);
      return waiting.includes('ErrImagePull');
    });
    await consistently(2, () => expect(at().running()).toEqual([before]));
    const { status } = await at().testbed.platform.get(ClusterProvider, clusterProviderKey);
    expect(status?.phase).toBe('Progressing');
    await at().change({ image: imageReference('0.2.0') });
    await at().isDeployed();
    expect(at().running()).toEqual([before]);
    expect(before.lives).toHaveLength(1);
  });

  it('C2, C5: two replicas take turns, also after a kill of the leader', async () => {
    await at().change({ runReplicas: 2, verbosity: 'ERROR' });
    await at().isDeployed();
    const pods = await eventually('the one before them has ended', () => {
      const [one, two, ...others] = at().running();
      const isNew = (pod: PodWorker): boolean =>
        pod.pod.spec.containers[0]?.args?.includes('--verbosity=ERROR') ?? false;
      return one && two && others.length === 0 && isNew(one) && isNew(two) && [one, two];
    });
    expect(pods.map(({ pod }) => pod.spec.containers[0]?.args)).toEqual(
      pods.map(() => [
        'run',
        '--environment=test',
        '--verbosity=ERROR',
        '--provider-name=talos',
        '--leader-elect=true',
        ...metricsArguments,
      ]),
    );
    for (const pod of pods) await at().isWell(pod);
    const leader = await eventually('one of them leads', async () => {
      const pod = await at().witness.leader();
      return pod && pods.includes(pod) && pod;
    });
    const holder = await at().witness.holder();
    process.kill(lastProcessOf(leader).pid, 'SIGKILL');
    await eventually('its container is started again', async () => {
      const { status } = await at().testbed.platform.get(KubePod, objectKeyOf(leader.pod));
      const [container] = status?.containerStatuses ?? [];
      return container?.restartCount === 1 && container.lastState.terminated?.exitCode === 137;
    });
    expect(await at().witness.holder()).toBe(holder);
    await eventually('somebody leads again', async () => ![holder, ''].includes(await at().witness.holder()));
    for (const pod of pods) await at().isWell(pod);
    expect(at().witness.violations()).toEqual([]);
  });

  it('C3: metrics use TLS with a custom certificate, where configured', async () => {
    const { platform, namespace } = at().testbed;
    await at().change({ runReplicas: 1 });
    await at().isDeployed();
    const authority = await createTestAuthority('metrics');
    const name = 'metrics.example.org';
    const { cert, key: privateKey } = await authority.serving([], [name]);
    const data = { 'tls.crt': cert, 'tls.key': privateKey };
    await platform.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'metrics-tls' },
      type: 'kubernetes.io/tls',
      data: Object.fromEntries(Object.entries(data).map(([file, pem]) => [file, Buffer.from(pem).toString('base64')])),
    });
    const flags = ['--metrics-bind-address=:8443', '--metrics-secure', '--metrics-cert-path=/certificates'];
    await at().change({
      verbosity: 'INFO',
      metrics: { disabled: true },
      runCommand: ['run', ...flags],
      extraVolumes: [{ name: 'certificates', secret: { secretName: 'metrics-tls' } }],
      extraVolumeMounts: [{ name: 'certificates', mountPath: '/certificates' }],
    });
    await at().isDeployed();
    const run = await at().theRunning(({ args = [] }) => args.includes('--metrics-bind-address=:8443'));
    await at().isWell(run);
    const agent = new Agent({ connect: { ca: authority.ca, servername: name } });
    try {
      // The operator gives its run account administrator rights, which include the metrics.
      const account = { namespace, name: 'cp-talos' };
      const { token } = await platform.requestToken(account, { expirationSeconds: 3600 });
      const authorization = `Bearer ${token.reveal()}`;
      const { code, text } = await at().ask(run, ':8443/metrics', agent, { authorization });
      expect([code, text]).toEqual([200, expect.stringContaining('leader_election_master_status')]);
      expect((await at().ask(run, ':8443/metrics', agent)).code).toBe(401);
      const foreign = await platform.requestToken({ namespace, name: 'default' }, { expirationSeconds: 3600 });
      const refused = { authorization: `Bearer ${foreign.token.reveal()}` };
      expect((await at().ask(run, ':8443/metrics', agent, refused)).code).toBe(403);
    } finally {
      await agent.close();
    }
    await expect(at().ask(run, ':8443/metrics')).rejects.toThrow();
    await expect(at().ask(run, ':8080/metrics')).rejects.toThrow(/ECONNREFUSED/);
  });
}
