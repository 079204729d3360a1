import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ClusterConfig } from '../../src/api/cluster-config.ts';
import { buildCrds } from '../../src/api/crd.ts';
import { requiredOpenmcpCrds } from '../../src/api/openmcp/crds.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { ProviderConfigSpec } from '../../src/api/provider-config-spec.ts';
import { installCrds } from '../../src/commands/install/install-crds.ts';
import { installOpenmcpCrds, warnAboutMissingOpenmcpCrds } from '../../src/commands/install/install-openmcp-crds.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { CustomResourceDefinition } from '../../src/kube/core-types.ts';
import { KubeError } from '../../src/kube/errors.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Log, noLog } from '../../src/lib/log.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { runProgram } from '../support/run-program.ts';
import type { CallInterceptor } from '../world/faults/call-interceptor.ts';
import { openmcpCrds } from '../world/operator/crds.ts';
import { startTestPlatformCluster } from '../world/operator/platform-cluster-fixture.ts';
import { readProjectFile } from './source-tree.ts';

interface Platform {
  readonly kubeconfig: string;
  readonly switchboard?: CallInterceptor;
  close(): Promise<void>;
}

async function startReal(): Promise<Platform> {
  const { kubeconfigPath: kubeconfig, close } = await startRealKube();
  return { kubeconfig, close };
}

async function startWorld(): Promise<Platform> {
  const { kubeconfig, options, close } = await startTestPlatformCluster();
  return { kubeconfig, switchboard: options.switchboard, close };
}

type Patch = Record<string, unknown>;

/** Each patch is merged into the sample; `undefined` removes a field. */
const refused: readonly { title: string; over: Patch; saying: RegExp }[] = [
  { title: 'no platform', over: { truenas: undefined }, saying: /exactly one platform section/ },
  {
    title: 'an even number of control planes',
    over: { controlPlane: { replicas: 2, size: 'medium' } },
    saying: /1, 3 or 5/,
  },
  { title: 'too many control planes', over: { controlPlane: { replicas: 7, size: 'medium' } }, saying: /replicas/ },
  {
    title: 'a worker pool called cp',
    over: { workerPools: [{ name: 'cp', replicas: 1, size: 'medium' }] },
    saying: /cp/,
  },
  {
    title: 'two pools with the same name',
    over: { workerPools: [1, 2].map((replicas) => ({ name: 'a', replicas, size: 'medium' })) },
    saying: /Duplicate/,
  },
  { title: 'a version with a v', over: { talos: { version: 'v1.13.9' } }, saying: /talos\.version/ },
  { title: 'no offered versions', over: { kubernetes: { versions: [] } }, saying: /kubernetes\.versions/ },
  {
    title: 'no address pool',
    over: { network: { prefix: 24, gateway: '10.0.0.1', nameServers: ['10.0.0.1'] } },
    saying: /addressPool/,
  },
];

describe.each([
  { server: 'world/kube', missing: undefined, start: startWorld },
  { server: 'kube-apiserver', missing: missingForRealKube(), start: startReal },
])('on $server', ({ missing, start }) => {
  if (missing) {
    test('init installs the CRDs', ({ skip }) => skip(missing));
    return;
  }
  let platform: Platform;
  let client: KubeClient;
  const crds = buildCrds();
  const install = async (timeoutSeconds = 30, manager = client) =>
    await installCrds({
      client: manager,
      crds,
      clock: systemClock,
      log: noLog,
      signal: AbortSignal.timeout(60_000),
      timeoutSeconds,
    });
  const versions = async () =>
    await Promise.all(
      crds.map(
        async ({ metadata: { name } }) =>
          (await client.get(CustomResourceDefinition, { name })).metadata.resourceVersion,
      ),
    );
  const newClient = (fieldManager: string) =>
    new KubeClient(new Transport(loadApiServerConnection({ path: platform.kubeconfig })), { fieldManager });
  const name = 'machines.talos.clusters.openmcp.cloud';
  const names = crds.map((crd) => crd.metadata.name);
  const removeAll = async () => {
    for (const one of names) await client.remove(CustomResourceDefinition, { name: one });
    const left = async () => {
      const { items } = await client.list(CustomResourceDefinition);
      return items.map((crd) => crd.metadata.name).filter((one) => names.includes(one));
    };
    const gone = async (timeout: number) => await expect.poll(left, { timeout }).toEqual([]);
    try {
      await gone(20_000);
    } catch {
      // kube-apiserver may forget a deletion whose first attempt failed, for minutes or until another change of the
      // object.
      const touched = { metadata: { annotations: { touched: 'again' } } };
      for (const one of await left()) await client.merge(CustomResourceDefinition, { name: one }, touched);
      await gone(150_000);
    }
  };

  beforeAll(async () => {
    platform = await start();
    client = newClient('cluster-provider-talos');
  }, 90_000);
  afterAll(async () => {
    await client?.close();
    await platform?.close();
  });

  test('C6: init creates all kinds and waits until they are established', async () => {
    await install();
    expect((await client.list(ProviderConfig)).items).toEqual([]);
  });

  test('a second run writes nothing', async () => {
    const before = await versions();
    await install();
    expect(await versions()).toEqual(before);
  });

  test('changes by an older version or a user are reverted, whatever the field owner', async () => {
    const kubectl = newClient('kubectl-edit');
    const found = await client.get(CustomResourceDefinition, { name });
    const spec = structuredClone(found.spec) as { names: { shortNames: string[] } };
    spec.names.shortNames = ['old'];
    await kubectl.replace(CustomResourceDefinition, { ...found, spec: { ...found.spec, ...spec } });
    await install();
    expect((await client.get(CustomResourceDefinition, { name })).spec['names']).toMatchObject({ shortNames: ['tm'] });
    await kubectl.close();
  });

  test('foreign labels and annotations stay', async () => {
    await client.merge(CustomResourceDefinition, { name }, { metadata: { annotations: { team: 'a' } } });
    await install();
    expect((await client.get(CustomResourceDefinition, { name })).metadata.annotations).toMatchObject({ team: 'a' });
  });

  test('two at the same time do no harm', async () => {
    await removeAll();
    const other = newClient('cluster-provider-talos');
    await Promise.all([install(), install(30, other), install()]);
    await other.close();
    expect((await versions()).every(Boolean)).toBe(true);
  });

  test('a CRD of our name that is not for platform clusters is not touched, and neither are all others', async () => {
    await removeAll();
    const last = crds.at(-1);
    if (!last) throw new Error('there should be some kinds');
    for (const labels of [{}, { 'openmcp.cloud/cluster': 'onboarding' }]) {
      const foreign = { ...last, metadata: { name: last.metadata.name, labels } };
      await client.create(CustomResourceDefinition, foreign);
      await expect(install()).rejects.toThrow(new RegExp(`${last.metadata.name} .*openmcp.cloud/cluster`));
      const { items } = await client.list(CustomResourceDefinition);
      expect(items.map((crd) => crd.metadata.name)).not.toContain(name);
      await removeAll();
    }
  });

  describe('the kinds of openMCP', () => {
    const needed = requiredOpenmcpCrds.map((crd) => crd.metadata.name);
    const lines: string[] = [];
    const note = ({ crd }: Readonly<Record<string, unknown>>, message: string) => void lines.push(`${crd}: ${message}`);
    const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
    const how = () => ({
      ...{ client, clock: systemClock, log, timeoutSeconds: 30 },
      signal: AbortSignal.timeout(60_000),
    });
    const namesNow = async () =>
      (await client.list(CustomResourceDefinition)).items
        .map((crd) => crd.metadata.name)
        .filter((one) => needed.includes(one));
    // The finalizer of a CRD is tried again with growing pauses, on a busy machine for more than a minute.
    const noneOfThem = async () => {
      for (const one of needed)
        if ((await namesNow()).includes(one)) await client.remove(CustomResourceDefinition, { name: one });
      await expect.poll(namesNow, { timeout: 150_000 }).toEqual([]);
      lines.length = 0;
    };

    test('are reported as missing with a sentence each, and not created, unless requested', async () => {
      await noneOfThem();
      await warnAboutMissingOpenmcpCrds(how());
      expect(await namesNow()).toEqual([]);
      expect(lines).toEqual(needed.map((one) => expect.stringMatching(`^${one}: .*--with-openmcp-crds$`)));
    });

    test('are created on request, and established: the needed ones only', async () => {
      await noneOfThem();
      await Promise.all([installOpenmcpCrds(how()), installOpenmcpCrds(how())]);
      expect((await client.list(Cluster)).items).toEqual([]);
      expect((await client.list(AccessRequest)).items).toEqual([]);
      expect((await namesNow()).sort()).toEqual([...needed].sort());
      expect(needed.some((one) => one.startsWith('clusterrequests'))).toBe(false);
      expect(lines.filter((line) => line.endsWith(': openMCP CRD installed'))).toHaveLength(needed.length);
    });

    test('stay unchanged where they exist, whatever their origin', async () => {
      await noneOfThem();
      const [first] = requiredOpenmcpCrds;
      if (!first) throw new Error('there should be some kinds');
      const spec = structuredClone(first.spec) as { names: { shortNames?: string[] } };
      spec.names.shortNames = ['newer'];
      const foreign = { ...first, metadata: { name: first.metadata.name }, spec: { ...first.spec, ...spec } };
      const { metadata } = await client.create(CustomResourceDefinition, foreign);
      await installOpenmcpCrds(how());
      const found = await client.get(CustomResourceDefinition, { name: first.metadata.name });
      expect(found.spec['names']).toMatchObject({ shortNames: ['newer'] });
      expect(found.metadata).toMatchObject({ uid: metadata.uid, generation: metadata.generation });
      expect(lines).toContain(`${first.metadata.name}: openMCP CRD exists and is not changed`);
      expect(lines.filter((line) => line.endsWith('installed'))).toHaveLength(needed.length - 1);
      await noneOfThem();
    });
  });

  test('a failed call to the API server is retried', async ({ skip }) => {
    const { switchboard } = platform;
    if (!switchboard) return skip('only the simulated server can be told to stumble');
    const all = /customresourcedefinitions/;
    switchboard.fail('kube', all, { kind: 'error', status: 503 });
    switchboard.fail('kube', all, { kind: 'drop' }, 1, 2);
    switchboard.fail('kube', /^PATCH .*customresourcedefinitions/, { kind: 'lose-reply' }, 1, 1);
    await install();
    expect((await versions()).every(Boolean)).toBe(true);
    switchboard.clear();
  });

  describe('the samples', () => {
    const documents = (path: string) =>
      parseAllDocuments(readProjectFile(path)).map((document) => document.toJS() as KubeObject);
    const [, sample] = documents('config/samples/truenas.yaml') as [KubeObject, ProviderConfig];

    beforeAll(async () => {
      await install();
      await installCrds({
        client,
        crds: openmcpCrds,
        clock: systemClock,
        log: noLog,
        signal: AbortSignal.timeout(60_000),
        timeoutSeconds: 30,
      });
    }, 60_000);

    test('are accepted unchanged, and stored with the defaults of our code', async () => {
      const stored = await client.create(ProviderConfig, sample);
      expect(stored.spec).toEqual(ProviderConfigSpec.parse(sample.spec));
      expect(stored.spec).toMatchObject({ workerPools: [], network: { dnsDomain: 'cluster.local' } });
    });

    test('refer to each other: profile, size, Secret, Cluster', () => {
      const [secret] = documents('config/samples/truenas.yaml');
      const [cluster] = documents('config/samples/cluster.yaml') as [Cluster];
      const [access] = documents('config/samples/accessrequest.yaml') as [AccessRequest];
      expect(cluster.spec.profile).toBe(`demo.${sample.spec.providerRef.name}.${sample.metadata.name}`);
      expect(access.spec.clusterRef).toEqual({ name: cluster.metadata.name, namespace: cluster.metadata.namespace });
      expect(sample.spec).toMatchObject({
        truenas: { credentialsRef: { name: secret?.metadata.name }, sizes: [{ name: sample.spec.controlPlane.size }] },
      });
    });

    test.each([
      ['cluster.yaml', Cluster],
      ['accessrequest.yaml', AccessRequest],
      ['clusterconfig.yaml', ClusterConfig],
    ] as const)('%s is accepted', async (file, type) => {
      const [object] = documents(`config/samples/${file}`);
      const placed = { ...object, metadata: { ...object?.metadata, namespace: 'default' } } as never;
      await expect(client.create(type as typeof Cluster, placed)).resolves.toBeDefined();
    });

    test.each(refused)('$title is rejected with a sentence', async ({ over, saying: recording }) => {
      const object = { ...sample, metadata: { name: 'bad' }, spec: { ...sample.spec, ...over } } as ProviderConfig;
      const error = await client.create(ProviderConfig, object).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(KubeError);
      expect((error as KubeError).message).toMatch(recording);
    });

    test('a name that cannot be a label value is rejected', async () => {
      const object = { ...sample, metadata: { name: 'a'.repeat(64) } };
      await expect(client.create(ProviderConfig, object)).rejects.toThrow(/at most 63 characters/);
    });

    test('the provider of a template is immutable', async () => {
      const patch = { spec: { providerRef: { name: 'other' } } };
      await expect(client.merge(ProviderConfig, { name: sample.metadata.name }, patch)).rejects.toThrow(
        /create a new ProviderConfig/,
      );
    });

    test('a status whose reason is not one word is rejected', async () => {
      const condition = { type: 'Ready', status: 'True', message: '', lastTransitionTime: '2026-11-21T00:00:00Z' };
      const write = async (reason: string) =>
        await client.merge(
          ProviderConfig,
          { name: sample.metadata.name },
          { status: { observedGeneration: 1, phase: 'Ready', conditions: [{ ...condition, reason }] } },
          { subresource: 'status' },
        );
      await expect(write('not so')).rejects.toThrow(/reason/);
      await expect(write('AsExpected')).resolves.toMatchObject({ status: { phase: 'Ready' } });
    });
  });
});

describe('the program', () => {
  const named = ['--environment=dev', '--provider-name=talos'];

  test('exits with 2 and one sentence on the error stream when the command line is wrong', async () => {
    expect(await runProgram('init', '--environment=dev')).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(/^--provider-name.*\n$/),
    });
  });

  test('exits with 1 and one log line when it fails', async () => {
    const { code, err } = await runProgram('init', ...named, '--cli');
    expect({ code, lines: err.trim().split('\n').length }).toEqual({ code: 1, lines: 1 });
    expect(err).toContain('--kubeconfig');
  });

  test('exits with 0 after init', async () => {
    const platform = await startTestPlatformCluster();
    try {
      const done = await runProgram('init', ...named, '--kubeconfig', platform.kubeconfig);
      expect(done).toMatchObject({ code: 0, out: '', err: expect.stringContaining('openMCP CRD is missing') });
      const more = await runProgram('init', ...named, '--with-openmcp-crds', '--kubeconfig', platform.kubeconfig);
      expect(more).toMatchObject({ code: 0, out: '', err: expect.stringContaining('openMCP CRD installed') });
      expect(more.err).not.toContain('missing');
    } finally {
      await platform.close();
    }
  });

  test('prints help and version to standard output', async () => {
    expect(await runProgram('--help')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Usage') });
    expect(await runProgram('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});
