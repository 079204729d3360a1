import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { group, secretsName } from '../../src/api/names.ts';
import { AccessRequest, Cluster, phases } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { readClusterSecrets } from '../../src/controllers/cluster-secrets.ts';
import { Namespace, Secret } from '../../src/kube/core-types.ts';
import { isAlreadyExists } from '../../src/kube/errors.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { renderTalosconfig } from '../../src/talos/talosconfig.ts';
import type { RoomLine } from '../world/room.ts';
import { type RunningWorld, startWorld } from '../world/world.ts';
import type { DemoArguments } from './arguments.ts';
import { sampleObjects } from './objects.ts';
import { Program } from './program.ts';
import { countNas, leftovers, type NasCount } from './proof.ts';
import type { Screen } from './screen.ts';
import { readObjects, Session } from './session.ts';
import { useAccess } from './use-access.ts';
import { DemoFailed, until } from './wait.ts';
import { standing } from './watch.ts';

const folder = '.demo';
const namespace = 'openmcp-system';
const timeScale = 0.02;
const common = ['--environment=demo', '--provider-name=talos', '--verbosity=INFO'];

/** One run of the demo: what was started, in order, and how to end it. */
export class Demo {
  readonly #words: DemoArguments;
  readonly #screen: Screen;
  readonly #closers: (() => Promise<unknown>)[] = [];

  constructor(words: DemoArguments, screen: Screen) {
    this.#words = words;
    this.#screen = screen;
  }

  async run(untilInterrupted: () => Promise<void>): Promise<void> {
    const screen = this.#screen;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    screen.chapter('The world: a platform cluster, a TrueNAS system, an image factory');
    const world = await this.#startWorld();
    const session = await Session.fromFile(join(folder, 'platform.kubeconfig'));
    this.#closers.push(() => session.close());
    const before = countNas(world);
    screen.chapter('The program: init, then run, as the openMCP operator starts them');
    const program = await this.#startProgram(session);
    screen.chapter(
      this.#words.apply
        ? `Your objects: ${this.#words.apply}`
        : 'A ProviderConfig, a Cluster and an AccessRequest: config/samples',
    );
    const objects = await this.#apply(session, world);
    await this.#awaitAccess(session, program);
    await this.#look(session);
    if (this.#words.keep) {
      this.#explain();
      await untilInterrupted();
    }
    await this.#takeDown(session, program, world, objects, before);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }

  async #startWorld(): Promise<RunningWorld> {
    const { platformKubeconfig } = this.#words;
    const world = await startWorld({
      folder: join(folder, 'world'),
      timeScale,
      ...(platformKubeconfig ? { kubeconfig: platformKubeconfig } : {}),
    });
    this.#closers.push(() => world.close());
    for (const line of world.lines) this.#screen.step(`${line.room.padEnd(14)} ${line.url}`);
    await writeFile(join(folder, 'world.json'), world.lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
      mode: 0o600,
    });
    await writeFile(join(folder, 'platform.kubeconfig'), await readFile(world.kubeconfig, 'utf8'), { mode: 0o600 });
    return world;
  }

  async #startProgram(session: Session): Promise<Program> {
    const kubeconfig = `--kubeconfig=${join(folder, 'platform.kubeconfig')}`;
    await ensureNamespace(session, namespace);
    const environment = { POD_NAMESPACE: namespace };
    const init = new Program(['init', ...common, kubeconfig], environment, join(folder, 'init.log'));
    if ((await init.exited) !== 0) throw new DemoFailed(`init failed:\n${await init.tail()}`);
    this.#screen.step('init has installed the CRDs and ended');
    const flags = ['--metrics-bind-address=0', '--health-probe-bind-address=127.0.0.1:0'];
    const program = new Program(['run', ...common, ...flags, kubeconfig], environment, join(folder, 'run.log'));
    this.#closers.push(() => program.stop());
    this.#screen.step(`run works; its log is ${join(folder, 'run.log')}`);
    return program;
  }

  async #apply(session: Session, world: RunningWorld): Promise<KubeObject[]> {
    const lineOf = (room: string): RoomLine => world.lines.find((line) => line.room === room) as RoomLine;
    const lines = { truenas: lineOf('truenas'), factory: lineOf('image-factory') };
    const objects = this.#words.apply ? await readObjects(this.#words.apply) : await sampleObjects(lines);
    for (const object of objects)
      if (object.metadata.namespace) await ensureNamespace(session, object.metadata.namespace);
    await session.apply(objects);
    return objects;
  }

  async #awaitAccess(session: Session, program: Program): Promise<void> {
    const kubeconfig = await this.#watch('Access to a running cluster', 240, session, program, async () => {
      const [request] = (await session.client.list(AccessRequest)).items;
      const name = request?.status?.phase === phases.granted ? request.status.secretRef?.name : undefined;
      if (!request || !name) return undefined;
      const secret = await session.client.get(Secret, { namespace: request.metadata.namespace, name });
      return Buffer.from(secret.data?.['kubeconfig'] ?? '', 'base64').toString('utf8');
    });
    await writeFile(join(folder, 'access.kubeconfig'), kubeconfig, { mode: 0o600 });
    await this.#writeTalosconfig(session);
    this.#screen.chapter('The granted kubeconfig at work');
    await useAccess(kubeconfig, this.#screen);
  }

  async #writeTalosconfig(session: Session): Promise<void> {
    const [cluster] = (await session.client.list(Cluster)).items;
    if (!cluster) return;
    const ref = { namespace: cluster.metadata.namespace ?? '', name: cluster.metadata.name };
    const { bundle } = readClusterSecrets(await session.client.get(Secret, { namespace, name: secretsName(ref) }));
    const machines = await session.client.list<KubeObject & { status?: { address?: string }; spec?: { role: string } }>(
      machineType,
    );
    const addresses = machines.items
      .filter((machine) => machine.spec?.role === 'controlplane')
      .flatMap((machine) => machine.status?.address ?? []);
    const talosconfig = await renderTalosconfig(bundle, {
      now: new Date(),
      lifetimeSeconds: 86_400,
      clusterName: ref.name,
      endpoints: addresses,
      nodes: addresses,
    });
    await writeFile(join(folder, 'talosconfig'), talosconfig.reveal(), { mode: 0o600 });
  }

  async #look(session: Session): Promise<void> {
    const paths = [
      `/apis/${group}/v1alpha1/providerconfigs`,
      '/apis/clusters.openmcp.cloud/v1alpha1/clusterprofiles',
      '/apis/clusters.openmcp.cloud/v1alpha1/clusters',
      `/apis/${group}/v1alpha1/machines`,
      '/apis/clusters.openmcp.cloud/v1alpha1/accessrequests',
    ];
    this.#screen.chapter('What kubectl shows on the platform cluster');
    for (const path of paths)
      this.#screen.say(`\n$ kubectl get ${path.split('/').at(-1)} -A\n${await session.table(path)}`);
  }

  #explain(): void {
    this.#screen.chapter('Everything stays up until Ctrl-C. Look around in another terminal:');
    this.#screen.say(`
  kubectl --kubeconfig ${folder}/platform.kubeconfig get tpc,clusters.clusters.openmcp.cloud,tm,accessrequests -A
  kubectl --kubeconfig ${folder}/access.kubeconfig -n hello get configmaps
  talosctl --talosconfig ${folder}/talosconfig get members
  tail -f ${folder}/run.log`);
  }

  async #takeDown(
    session: Session,
    program: Program,
    world: RunningWorld,
    objects: readonly KubeObject[],
    before: NasCount,
  ): Promise<void> {
    const screen = this.#screen;
    screen.chapter('Everything down again');
    for (const kind of [AccessRequest, Cluster] as const) await deleteAll(session, kind, objects);
    await this.#watch('The end of the cluster', 120, session, program, async () => {
      const left = [...(await session.client.list(Cluster)).items, ...(await session.client.list(AccessRequest)).items];
      return left.length === 0 ? true : undefined;
    });
    await deleteAll(session, ProviderConfig, objects);
    await this.#watch('The end of the ProviderConfig', 60, session, program, async () =>
      (await session.client.list(ProviderConfig)).items.length === 0 ? true : undefined,
    );
    const left = await leftovers(session, world, before);
    if (left.length > 0) throw new DemoFailed(`Something was left behind: ${left.join(', ')}.`);
    screen.step('no VM, dataset, file, Talos node, Machine, Secret or claimed address is left');
    screen.step('the Talos boot image stays on the NAS for the next cluster');
    const code = await program.stop();
    if (code !== 0) throw new DemoFailed(`run ended with exit code ${code}:\n${await program.tail()}`);
    screen.step('run has ended in order');
  }

  async #watch<T>(
    what: string,
    seconds: number,
    session: Session,
    program: Program,
    look: () => Promise<T | undefined>,
  ): Promise<T> {
    const draw = async (): Promise<T | undefined> => {
      this.#screen.progress(await standing(session));
      return await look();
    };
    try {
      return await until(what, seconds, draw, () => (program.isRunning ? undefined : 'run has ended by itself.'));
    } catch (error) {
      throw error instanceof DemoFailed
        ? new DemoFailed(`${error.message}\nThe end of ${join(folder, 'run.log')}:\n${await program.tail()}`)
        : error;
    } finally {
      this.#screen.settle();
    }
  }
}

const machineType: ResourceType<KubeObject & { status?: { address?: string }; spec?: { role: string } }> = {
  group,
  version: 'v1alpha1',
  kind: 'Machine',
  plural: 'machines',
  namespaced: false,
};

async function ensureNamespace(session: Session, name: string): Promise<void> {
  try {
    await session.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Deletes those of the applied objects that are of a kind. */
async function deleteAll(session: Session, type: ResourceType, objects: readonly KubeObject[]): Promise<void> {
  for (const { kind, metadata } of objects) {
    if (kind === type.kind) await session.client.remove(type, { namespace: metadata.namespace, name: metadata.name });
  }
}
