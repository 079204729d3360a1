import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { Reflector, type ReflectorOptions } from '../../../src/kube/reflector/reflector.ts';
import { createApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { noLog } from '../../../src/lib/log.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  type ReceivedRequest,
  replyJson,
  replyStatus,
  type ScriptedHttpServer,
  startScriptedHttpServer,
  waitForCondition,
} from './scripted-http-server.ts';

export const secretObject = (name: string, resourceVersion: string, uid = `uid-${name}`): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'n', uid, resourceVersion, labels: { app: name.slice(0, 1) } },
});

/** Handles one request to the API server. */
export type Responder = (response: ServerResponse, received: ReceivedRequest) => void;

export const listResponse =
  (version: string, ...items: Secret[]): Responder =>
  (response) =>
    replyJson(response, { metadata: { resourceVersion: version }, items });

export const eventLine = (type: string, body: unknown) => `${JSON.stringify({ type, object: body })}\n`;
export const bookmarkLine = (version: string) =>
  eventLine('BOOKMARK', { kind: 'Secret', metadata: { resourceVersion: version } });

/** A watch that sends these events and then stays silent. */
export const watchResponse =
  (...lines: string[]): Responder =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const text of lines) response.write(text);
  };

/** A watch that sends these events and ends. */
export const endedWatchResponse =
  (...lines: string[]): Responder =>
  (response) => {
    watchResponse(...lines)(response, {} as ReceivedRequest);
    response.end();
  };

export const errorResponse =
  (code: number, reason: string, more: Record<string, unknown> = {}): Responder =>
  (response) =>
    replyStatus(response, code, reason, more);
export const droppedConnection: Responder = (_, { socket }) => socket.destroy();

export interface ReflectorHarness {
  readonly server: ScriptedHttpServer;
  readonly clock: ManualClock;
  readonly reflector: Reflector<Secret>;
  /** The calls of the listener, e.g. `added a`. */
  readonly heard: string[];
  readonly end: AbortController;
  readonly done: Promise<void>;
  /** `list` and `watch <version>`, in the order of the requests. */
  asked(): string[];
  /** How many requests got a response, or at least its beginning. */
  answered(): number;
  /** Advances the clock past the reflector's pause. */
  sleepOn(): Promise<void>;
}

/** A reflector against a server that replies with `lists` and `watches` in order, and repeats the last of each. */
export async function startReflectorHarness(
  lists: Responder[],
  watches: Responder[],
  options: Partial<ReflectorOptions<Secret>> = {},
): Promise<ReflectorHarness> {
  const server = await startScriptedHttpServer((received, response) => {
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
  const transport = new Transport(createApiServerConnection({ server: server.url }), { clock, observer });
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

export const untilFailed = (fixture: ReflectorHarness, times: number) =>
  waitForCondition(() => fixture.reflector.health.failures === times, `it failed ${times} times`);
export const untilHeard = (fixture: ReflectorHarness, count: number) =>
  waitForCondition(() => fixture.heard.length >= count, `it heard ${count} changes`);
export const untilRequested = (fixture: ReflectorHarness, count: number) =>
  waitForCondition(() => fixture.asked().length >= count, `it asked ${count} times`);
