import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { group, version } from '../../../src/api/names.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { CustomResourceDefinition } from '../../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { missingForRealKube, type RealKube, startRealKube } from '../../peers/kube-apiserver.ts';
import { projectRoot } from '../../setup/generated-files.ts';
import { runProgram } from '../../support/run-program.ts';
import { kubeconfigOf } from '../../world/kube/index.ts';
import { type RunningWorld, startWorld } from '../../world/world.ts';
import { TestObjects, truenasCredentialsName } from '../support/objects/test-objects.ts';
import { Deployment } from '../support/operator/operator-kinds.ts';
import { acceleratedClock } from '../support/provider-process/accelerated-clock.ts';
import { Provider } from '../support/provider-process/provider.ts';

const execute = promisify(execFile);
const namespace = 'openmcp-system';
const subnet = '127.42.43';
const missing = missingPeers('helm', 'kubectl') ?? missingForRealKube(true);

if (missing) it('the installation page tells how to stand alone', ({ skip }) => skip(missing));
else describe('a platform cluster without the openMCP operator, as docs/install.md has it', alone);

/** The lines of each `sh` block of a section, with those that go on joined. */
async function linesOfInstallPage(heading: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(join(projectRoot, 'docs/install.md'), 'utf8');
  const [, section = ''] = new RegExp(`^## ${heading}$(.*?)^## `, 'ms').exec(text) ?? [];
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) =>
    block
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => line !== ''),
  );
}

function alone(): void {
  let folder: string;
  let kube: RealKube;
  let world: RunningWorld;
  let platform: KubeClient;
  let provider: Provider | undefined;
  let first: readonly string[];
  let blocks: readonly (readonly string[])[];

  /** Runs a line as a user does, in a folder that looks like the project's. */
  async function type(line: string): Promise<string> {
    const tools = ['helm', 'kubectl'].map((name) => dirname(findPeer(name as 'helm') ?? name));
    const PATH = [...tools, process.env['PATH']].join(':');
    const env = { PATH, KUBECONFIG: kube.kubeconfigPath, HOME: folder };
    const { stdout } = await execute('bash', ['-ec', line], { cwd: folder, env, timeout: 200_000 });
    return stdout;
  }
  const typeAll = async (lines: readonly string[]): Promise<void> => {
    for (const line of lines) await type(line);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'standalone-'));
    kube = await startRealKube({ controllers: true });
    world = await startWorld({
      ...{ folder: join(folder, 'world'), timeScale: 0.005, ports: 'any', operator: false },
      kubeconfig: kube.kubeconfigPath,
    });
    platform = new KubeClient(new Transport(loadApiServerConnection({ path: kube.kubeconfigPath })), {
      fieldManager: 'e2e',
    });
    await symlink(join(projectRoot, 'charts'), join(folder, 'charts'));
    await mkdir(join(folder, 'config'));
    await cp(join(projectRoot, 'config/samples'), join(folder, 'config/samples'), { recursive: true });
    [first = []] = await linesOfInstallPage('On one machine');
    blocks = await linesOfInstallPage('Without the openMCP operator');
  }, 90_000);
  afterAll(async () => {
    await provider?.stop();
    await platform?.close();
    await world?.close();
    await kube?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('has the lines that are tested here', () => {
    const programs = (lines: readonly string[]) => lines.map((line) => line.split(' ')[0]);
    const [docker, helm, kubectl] = ['docker', 'helm', 'kubectl'];
    expect(programs(first)).toEqual([docker, docker, helm, helm, '$EDITOR', ...Array(4).fill(kubectl), 'umask']);
    expect(blocks.map(programs)).toEqual([Array(5).fill(kubectl), Array(2).fill('cluster-provider-talos')]);
  });

  it('gets the program from the chart, whose first container installs the kinds, including those of openMCP', async () => {
    // No kubelet runs here: the image and helm test are those of test/e2e/pods.
    await type(first[2] ?? '');
    const deployment = await platform.get(Deployment, { namespace, name: 'talos-cluster-provider-talos' });
    // biome-ignore lint/suspicious/noExplicitAny: of a Deployment we know little
    const { spec } = (deployment as any).spec.template;
    const kubeconfig = await kubeconfigOfAccount(spec.serviceAccountName);
    const { code, err } = await runProgram(...spec.initContainers[0].args, '--kubeconfig', kubeconfig);
    expect(code, err).toBe(0);
    const { items } = await platform.list(CustomResourceDefinition);
    const names = items.map(({ metadata }) => metadata.name).filter((name) => name.includes('openmcp'));
    expect(names.sort()).toEqual([
      'accessrequests.clusters.openmcp.cloud',
      'clusterconfigs.talos.clusters.openmcp.cloud',
      'clusterprofiles.clusters.openmcp.cloud',
      'clusters.clusters.openmcp.cloud',
      'hosts.talos.clusters.openmcp.cloud',
      'machines.talos.clusters.openmcp.cloud',
      'nodepools.talos.clusters.openmcp.cloud',
      'providerconfigs.talos.clusters.openmcp.cloud',
    ]);
    const { args } = spec.containers[0];
    expect(args).toEqual(expect.arrayContaining(['run', '--environment=demo', '--provider-name=talos']));
    // The second container, in this process: it has the same names and the rights of the chart's account.
    provider = new Provider({ name: 'talos', environment: 'demo', kubeconfig, namespace, clock: acceleratedClock(10) });
    provider.start();
  }, 90_000);

  it('makes the cluster of the samples, with the system and the addresses of the testbed', async () => {
    await writeFile(join(folder, 'config/samples/truenas.yaml'), await sampleOfThisPlace());
    await typeAll(first.slice(5, 9));
    expect(await type('kubectl -n team-a get cluster first -o jsonpath={.status.phase}')).toBe('Ready');
  }, 200_000);

  it('gives access when a user sets the fields of the operator', async () => {
    await typeAll(blocks[0] ?? []);
    const server = await type('kubectl --kubeconfig first.kubeconfig config view --minify -o jsonpath={..server}');
    expect(server).toMatch(new RegExp(`^https://${subnet.replaceAll('.', '\\.')}\\.`));
    const nodes = await type('kubectl --kubeconfig first.kubeconfig get nodes -o name');
    expect(nodes).toMatch(/^node\/first-.*-cp-0$/m);
  }, 120_000);

  it('deletes everything again', async () => {
    await type('kubectl -n team-a delete cluster first --wait=false');
    await type('kubectl -n team-a wait cluster/first --for=delete --timeout=60s');
    expect(world.truenas.dump().vms).toEqual([]);
  }, 90_000);

  async function kubeconfigOfAccount(name: string): Promise<string> {
    const { token } = await platform.requestToken({ namespace, name }, { expirationSeconds: 7200 });
    const path = join(folder, 'provider.kubeconfig');
    await writeFile(path, kubeconfigOf(kube.url, kube.ca, { token: token.reveal() }), { mode: 0o600 });
    return path;
  }

  /** The sample's objects with the testbed's values, under the names that the other samples refer to. */
  async function sampleOfThisPlace(): Promise<string> {
    const caBundle = await readFile(world.truenas.line.ca ?? '', 'utf8');
    const objects = new TestObjects(platform, {
      ...{ subnet, namespace, environment: 'demo', caBundle },
      ...{ truenas: world.truenas.line, factoryUrl: world.factory.line.url },
    });
    const metadata = { name: truenasCredentialsName, namespace };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: objects.goodCredentials() };
    const kind = { apiVersion: `${group}/${version}`, kind: 'ProviderConfig', metadata: { name: 'small' } };
    return [secret, { ...kind, spec: objects.configSpec() }].map((object) => stringify(object)).join('---\n');
  }
}
