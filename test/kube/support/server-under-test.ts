import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiServerTarget, StartedApiServer } from './api-servers.ts';
import { RawKubeClient, type RawKubeOptions, type RawResponse } from './raw-kube-client.ts';

/**
 * One API server while the suite runs against it, and the list of its cleanups: namespaces, definitions and
 * cluster-scoped objects all have `suffix`, so that two suites on one server do not collide.
 */
export class ServerUnderTest {
  readonly platform: StartedApiServer;
  readonly name: ApiServerTarget['name'];
  readonly admin: RawKubeClient;
  /** Random, lower-case, letters first: safe in every name. */
  readonly suffix: string;
  /** API group of the suite's own kinds. */
  readonly group: string;
  #clean: (() => Promise<unknown>)[] = [];
  #count = 0;
  #left: Promise<string[]> | undefined;

  constructor(name: ApiServerTarget['name'], platform: StartedApiServer) {
    this.name = name;
    this.platform = platform;
    this.suffix = `s${randomBytes(4).toString('hex')}`;
    this.group = `${this.suffix}.suite.example.com`;
    this.admin = new RawKubeClient(platform.admin);
  }

  static async start(platform: ApiServerTarget): Promise<ServerUnderTest> {
    return new ServerUnderTest(platform.name, await platform.start());
  }

  /** A unique name. */
  unique(word: string): string {
    this.#count += 1;
    return `${word}-${this.suffix}-${this.#count}`;
  }

  /** Registers a cleanup. Cleanups run in reverse order. */
  later(undo: () => Promise<unknown>): void {
    this.#clean.push(undo);
  }

  /** Registers the deletion of an object outside of the suite's namespaces. */
  deleteLater(path: string): void {
    this.later(() => this.admin.delete(path, { propagationPolicy: 'Background' }));
  }

  /**
   * A new namespace, after controllers have created their default objects in it, so that no test counts or watches them
   * by accident.
   */
  async namespace(word = 'suite'): Promise<string> {
    const name = this.unique(word);
    const answer = await this.admin.post('/api/v1/namespaces', { metadata: { name } });
    if (answer.status !== 201) throw new Error(`namespace not created: ${answer.text}`);
    const path = `/api/v1/namespaces/${name}`;
    this.deleteLater(path);
    for (const left of await this.#leftInside(path))
      await eventuallyResponds(`${path}/${left}`, () => this.admin.get(`${path}/${left}`), isOk);
    return name;
  }

  /**
   * The objects that controllers create in a namespace. Determined from the first one: not every server has every
   * controller.
   */
  #leftInside(first: string): Promise<string[]> {
    this.#left ??= (async () => {
      const left: string[] = [];
      for (const candidate of ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']) {
        const end = performance.now() + 3_000;
        let answer = await this.admin.get(`${first}/${candidate}`);
        while (!isOk(answer) && performance.now() < end) {
          await delay(50);
          answer = await this.admin.get(`${first}/${candidate}`);
        }
        if (isOk(answer)) left.push(candidate);
      }
      return left;
    })();
    return this.#left;
  }

  /** The same server with other credentials. The connection is closed at the end of the suite. */
  as(options: Partial<RawKubeOptions>): RawKubeClient {
    const wire = this.admin.as(options);
    this.later(() => wire.close());
    return wire;
  }

  impersonating(user: string, groups: readonly string[] = []): RawKubeClient {
    const wire = this.admin.impersonating(user, groups);
    this.later(() => wire.close());
    return wire;
  }

  /** The same server without any credentials. */
  anonymous(): RawKubeClient {
    return this.as({ token: undefined, cert: undefined, key: undefined, headers: undefined });
  }

  async close(): Promise<void> {
    for (const undo of this.#clean.reverse()) await undo();
    await this.admin.close();
    await this.platform.close();
  }
}

const isOk = ({ status }: RawResponse): boolean => status === 200;

/** Polls until `wanted` holds for the response. The error contains the last response. */
export async function eventuallyResponds(
  what: string,
  ask: () => Promise<RawResponse>,
  wanted: (answer: RawResponse) => boolean,
  seconds = 15,
): Promise<RawResponse> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (performance.now() > end)
      throw new Error(`${what}: not within ${seconds} s; last answer ${answer.status} ${answer.text}`);
    await delay(50);
  }
}
