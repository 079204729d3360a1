import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { KubeClient } from '../../src/kube/client.ts';
import { connectionTo } from '../../src/kube/connection.ts';
import { Secret } from '../../src/kube/core-types.ts';
import { Reflector, type ReflectorOptions } from '../../src/kube/reflector.ts';
import { Transport } from '../../src/kube/transport.ts';
import { noLog } from '../../src/lib/log.ts';
import { ManualClock } from './manual-clock.ts';
import { answer, type Received, type RoughServer, refuse, roughServer, until } from './rough-server.ts';

export const object = (name: string, resourceVersion: string, uid = `uid-${name}`): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'n', uid, resourceVersion, labels: { app: name.slice(0, 1) } },
});

/** Behaviour of one request to the API server. */
export type Act = (response: ServerResponse, received: Received) => void;

export const list =
  (version: string, ...items: Secret[]): Act =>
  (response) =>
    answer(response, { metadata: { resourceVersion: version }, items });

export const line = (type: string, body: unknown) => `${JSON.stringify({ type, object: body })}\n`;
export const bookmark = (version: string) =>
  line('BOOKMARK', { kind: 'Secret', metadata: { resourceVersion: version } });

/** A watch that says these things and then stays silent. */
export const say =
  (...lines: string[]): Act =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const text of lines) response.write(text);
  };

/** A watch that says these things and ends. */
export const sayAndEnd =
  (...lines: string[]): Act =>
  (response) => {
    say(...lines)(response, {} as Received);
    response.end();
  };

export const fail =
  (code: number, reason: string, more: Record<string, unknown> = {}): Act =>
  (response) =>
    refuse(response, code, reason, more);
export const cut: Act = (_, { socket }) => socket.destroy();

export interface Scene {
  readonly server: RoughServer;
  readonly clock: ManualClock;
  readonly reflector: Reflector<Secret>;
  /** What listeners heard, e.g. `added a`. */
  readonly heard: string[];
  readonly end: AbortController;
  readonly done: Promise<void>;
  /** `list` and `watch <version>`, in the order in which they came. */
  asked(): string[];
  /** How many requests got an answer, or at least its beginning. */
  answered(): number;
  /** Lets the reflector sleep through its pause. */
  sleepOn(): Promise<void>;
}

/** A reflector against a server that plays `lists` and `watches` one after the other, the last of each for ever. */
export async function play(
  lists: Act[],
  watches: Act[],
  options: Partial<ReflectorOptions<Secret>> = {},
): Promise<Scene> {
  const server = await roughServer((received, response) => {
    const acts = received.query.has('watch') ? watches : lists;
    const act = acts.length > 1 ? acts.shift() : acts[0];
    act?.(response, received);
  });
  const clock = new ManualClock();
  let answered = 0;
  const observer = {
    request: () => {
      answered += 1;
    },
  };
  const transport = new Transport(connectionTo({ server: server.url }), { clock, observer });
  const client = new KubeClient(transport, { fieldManager: 'test', deadlineSeconds: 30 });
  const reflector = new Reflector(client, Secret, { clock, log: noLog, random: () => 1, ...options });
  const heard: string[] = [];
  reflector.onChange(({ kind, object: { metadata } }) => heard.push(`${kind} ${metadata.name}`));
  const end = new AbortController();
  const done = reflector.start(end.signal);
  onTestFinished(async () => {
    end.abort();
    await done;
    await transport.close();
    await server.close();
  });
  const asked = () =>
    server.received.map(({ query }) => (query.has('watch') ? `watch ${query.get('resourceVersion')}` : 'list'));
  const sleepOn = async () => {
    const { failures } = reflector.health;
    await clock.advance(Math.min(500 * 2 ** (failures - 1), 30_000));
  };
  return { server, clock, reflector, heard, end, done, asked, answered: () => answered, sleepOn };
}

export const failed = (scene: Scene, times: number) =>
  until(() => scene.reflector.health.failures === times, `it failed ${times} times`);
export const heard = (scene: Scene, count: number) =>
  until(() => scene.heard.length >= count, `it heard ${count} changes`);
export const askedFor = (scene: Scene, count: number) =>
  until(() => scene.asked().length >= count, `it asked ${count} times`);
