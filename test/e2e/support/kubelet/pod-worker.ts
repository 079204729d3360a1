import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { isNotFound } from '../../../../src/kube/errors.ts';
import { objectKeyOf } from '../../../../src/kube/resource.ts';
import { ContainerProcess, toKubeTime } from './container-process.ts';
import { ContainerWorker, type RestartPolicy } from './container-worker.ts';
import { containerEnvironment } from './environment.ts';
import type { Image } from './image.ts';
import { hostAddress, PodSandbox } from './pod-sandbox.ts';
import { type Container, KubePod, type PodCondition, type PodStatus } from './pod-types.ts';
import { makeVolumes, mountsOf } from './volumes.ts';

export interface PodWorkerOptions {
  readonly client: KubeClient;
  readonly pod: KubePod;
  /** Of its sandbox. */
  readonly number: number;
  /** URL of the API server, from inside the Pod. */
  readonly server: string;
  /** Available images, by name. */
  readonly images: ReadonlyMap<string, Image>;
  /** Status reports wait until this resolves. */
  readonly silence: Promise<void>;
}

const retryMilliseconds = 250;

/** A kubelet's work for one Pod, from its start to its end. */
export class PodWorker {
  readonly pod: KubePod;
  /** Resolves when the Pod is removed completely. Rejects with a failure of this kubelet. */
  readonly ended: Promise<void>;
  readonly #options: PodWorkerOptions;
  readonly #stop = new AbortController();
  readonly #stopped: Promise<void>;
  readonly #startTime = toKubeTime(new Date());
  #sandbox: PodSandbox | undefined;
  #folder = '';
  #init: ContainerWorker[] = [];
  #main: ContainerWorker[] = [];
  #phase: PodStatus['phase'] = 'Pending';
  #conditions: readonly PodCondition[] = [];
  #isDirty = false;
  #writing: Promise<void> | undefined;
  /** Whether status reports have ended. */
  #isMute = false;

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.pod = options.pod;
    this.#stopped = new Promise((resolve) => {
      this.#stop.signal.addEventListener('abort', () => resolve());
    });
    this.ended = this.#live();
  }

  get name(): string {
    return this.pod.metadata.name;
  }

  /** Empty before it has one. */
  get address(): string {
    return this.#sandbox?.address ?? '';
  }

  /** All runs of its containers, those of init containers first. */
  get lives(): readonly ContainerProcess[] {
    return [...this.#init, ...this.#main].flatMap(({ lives }) => lives);
  }

  /** The phase as of now. */
  get phase(): PodStatus['phase'] {
    return this.#phase;
  }

  /** Stops the Pod after its deletion. */
  async stop(graceSeconds: number): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#init, ...this.#main].map((container) => container.stop(graceSeconds)));
  }

  /** Ends everything at once, without reports. */
  async close(): Promise<void> {
    this.#isMute = true;
    await this.stop(0);
    await this.ended;
  }

  async #live(): Promise<void> {
    const { pod } = this.#options;
    const policy = pod.spec.restartPolicy ?? 'Always';
    try {
      this.#folder = await mkdtemp(join(tmpdir(), 'pod-'));
      this.#sandbox = await PodSandbox.open(this.#options.number);
      this.#init = (pod.spec.initContainers ?? []).map((spec) =>
        this.#container(spec, policy === 'Never' ? 'Never' : 'OnFailure'),
      );
      this.#main = pod.spec.containers.map((spec) => this.#container(spec, policy));
      this.#report();
      await this.#runAll();
      await this.#writing;
      if (this.#stop.signal.aborted && !this.#isMute) await this.#confirmEnd();
    } finally {
      await this.#sandbox?.close();
      await rm(this.#folder, { recursive: true, force: true });
    }
  }

  async #runAll(): Promise<void> {
    await this.#prepare();
    for (const container of this.#init) {
      await container.run();
      if (container.exitCode !== 0) return this.#show('Failed');
    }
    if (this.#stop.signal.aborted) return this.#show('Failed');
    this.#phase = 'Running';
    await Promise.all(this.#main.map((container) => container.run()));
    this.#show(this.#main.every(({ exitCode }) => exitCode === 0) ? 'Succeeded' : 'Failed');
  }

  #show(phase: PodStatus['phase']): void {
    this.#phase = phase;
    this.#report();
  }

  #container(spec: Container, restartPolicy: RestartPolicy): ContainerWorker {
    const { address } = this;
    const changed = (): void => this.#report();
    return new ContainerWorker({ spec, restartPolicy, address, changed, start: () => this.#start(spec) });
  }

  #start(spec: Container): ContainerProcess {
    const { pod, images, server } = this.#options;
    const image = images.get(spec.image);
    if (!image || !this.#sandbox) throw new Error(`${spec.image} is gone`);
    const environment = containerEnvironment(pod, spec, this.address, server);
    const entrypoint = spec.command ?? image.entrypoint;
    const mounts = mountsOf(spec, this.#folder);
    return new ContainerProcess(
      this.#sandbox.start({ image: { ...image, entrypoint }, args: spec.args ?? [], environment, mounts }),
    );
  }

  /** Retries until volumes and images are available, or the Pod is deleted. */
  async #prepare(): Promise<void> {
    const { client, pod, images } = this.#options;
    const all = [...this.#init, ...this.#main];
    while (!this.#stop.signal.aborted) {
      const unknown = all.filter(({ spec }) => !images.has(spec.image));
      for (const container of unknown) container.wait('ErrImagePull', `there is no image ${container.spec.image}`);
      if (unknown.length === 0) {
        try {
          return await makeVolumes({ client, pod, address: this.address }, this.#folder);
        } catch (error) {
          if (!isNotFound(error)) throw error;
          for (const container of all) container.wait('ContainerCreating', String(error));
        }
      }
      await pause(retryMilliseconds, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  /** Writes the status once reports are allowed. */
  #report(): void {
    this.#isDirty = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    this.#writing.catch(() => {}); // The caller that awaits it gets the error.
  }

  async #write(): Promise<void> {
    await Promise.race([this.#options.silence, this.#stopped]);
    while (this.#isDirty && !this.#isMute) {
      this.#isDirty = false;
      const patch = { metadata: { uid: this.pod.metadata.uid }, status: this.#status };
      try {
        await this.#options.client.merge(KubePod, objectKeyOf(this.pod), patch, { subresource: 'status' });
      } catch (error) {
        if (!isNotFound(error)) throw error; // Deleted with no grace period: the status has no reader.
      }
    }
  }

  get #status(): PodStatus {
    const isReady = this.#phase === 'Running' && this.#main.every((container) => container.isReady);
    const isInitialized = this.#phase !== 'Pending';
    const conditions = [
      ['PodScheduled', true],
      ['PodReadyToStartContainers', true],
      ['Initialized', isInitialized],
      ['ContainersReady', isReady],
      ['Ready', isReady],
    ] as const;
    this.#conditions = conditions.map(([type, isTrue]) => {
      const status = isTrue ? 'True' : 'False';
      const before = this.#conditions.find((condition) => condition.type === type);
      return before?.status === status ? before : { type, status, lastTransitionTime: toKubeTime(new Date()) };
    });
    return {
      ...(this.#phase ? { phase: this.#phase } : {}),
      conditions: this.#conditions,
      hostIP: hostAddress,
      podIP: this.address,
      podIPs: [{ ip: this.address }],
      startTime: this.#startTime,
      ...(this.#init.length > 0 ? { initContainerStatuses: this.#init.map(({ status }) => status) } : {}),
      containerStatuses: this.#main.map(({ status }) => status),
    };
  }

  /** Confirms to the API server that the programs of a deleted Pod have ended. */
  async #confirmEnd(): Promise<void> {
    const { namespace, name, uid } = this.pod.metadata;
    try {
      await this.#options.client.raw('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        gracePeriodSeconds: 0,
        preconditions: { uid },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
