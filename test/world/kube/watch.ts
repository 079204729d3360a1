import type { ServerResponse } from 'node:http';
import type { Resource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { type ApiError, expired, fieldError, invalid } from './errors.ts';
import type { JsonObject } from './json.ts';
import { matcherOf, parseVersion } from './list.ts';
import { present } from './present.ts';
import { truthy } from './request.ts';
import type { ApiObject, StoreChange } from './store.ts';

/** How the objects of a stream are dressed: whole, as metadata only, or as rows of a table. */
export type Dress = (object: ApiObject) => JsonObject;

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const bookmarkSeconds = 60;

/** Starts a watch on an open response. Returns the function that ends it. Throws before anything is written. */
export function watch(
  context: Context,
  resource: Resource,
  namespace: string | undefined,
  response: ServerResponse,
  dress: Dress,
): () => void {
  const { storage, info } = context;
  const matches = matcherOf(context, resource);
  const asked = info.query.get('resourceVersion') ?? '';
  const wantsInitial = initialEvents(context);
  const from = asked === '' || asked === '0' ? undefined : parseVersion(asked);
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.flushHeaders();

  let seen = storage.revision;
  const send = (type: string, object: JsonObject): void => {
    response.write(`${JSON.stringify({ type, object })}\n`);
  };
  const bookmark = (annotations?: Record<string, string>): void => {
    const metadata = {
      resourceVersion: String(seen),
      creationTimestamp: null,
      ...(annotations ? { annotations } : {}),
    };
    send('BOOKMARK', {
      ...dress({
        apiVersion: resource.group ? `${resource.group}/${resource.version}` : resource.version,
        kind: resource.kind,
        metadata: metadata as unknown as ApiObject['metadata'],
      }),
    });
  };
  const relay = (change: StoreChange): void => {
    seen = change.revision;
    if (change.storage !== resource.storage) return;
    if (namespace !== undefined && change.object.metadata.namespace !== namespace) return;
    const event = toEvent(change, resource, matches);
    if (event) send(event.type, dress(event.object));
  };

  if (from === undefined || wantsInitial === true) {
    const isWanted = wantsInitial !== false;
    for (const object of isWanted ? storage.all(resource.storage, namespace) : []) {
      const shown = present(resource, object);
      if (matches(shown)) send('ADDED', dress(shown));
    }
    if (wantsInitial === true) bookmark({ 'k8s.io/initial-events-end': 'true' });
  } else {
    const missed = storage.since(from);
    if (!missed) {
      send('ERROR', tooOld(from, storage.compacted).status as unknown as JsonObject);
      response.end();
      return () => {};
    }
    for (const change of missed) relay(change);
  }
  return keepOpen(context, response, relay, bookmark);
}

function keepOpen(
  { storage, info }: Context,
  response: ServerResponse,
  relay: (change: StoreChange) => void,
  bookmark: () => void,
): () => void {
  const wantsBookmarks = truthy(info.query.get('allowWatchBookmarks'));
  const seconds = Number.parseInt(info.query.get('timeoutSeconds') ?? '', 10) || 1800 + Math.random() * 1800;
  const unsubscribe = storage.onChange(relay);
  const timers: NodeJS.Timeout[] = [];
  if (wantsBookmarks) {
    timers.push(setInterval(bookmark, bookmarkSeconds * 1000));
    if (seconds > 2) timers.push(setTimeout(bookmark, (seconds - 2) * 1000));
  }
  const end = (): void => {
    unsubscribe();
    for (const timer of timers) clearTimeout(timer);
    response.end();
  };
  timers.push(setTimeout(end, seconds * 1000));
  response.on('close', end);
  return end;
}

const tooOld = (asked: number, oldest: number): ApiError => expired(`too old resource version: ${asked} (${oldest})`);

/** What a change means to somebody who sees only what matches. */
function toEvent(
  change: StoreChange,
  resource: Resource,
  matches: (object: ApiObject) => boolean,
): { type: EventType; object: ApiObject } | undefined {
  const object = present(resource, change.object);
  const before = change.before && present(resource, change.before);
  const was = before !== undefined && matches(before);
  const is = change.type !== 'DELETED' && matches(object);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object };
  if (!was) return undefined;
  // What leaves the selection is shown as it was, at the version of the change.
  const resourceVersion = change.object.metadata.resourceVersion ?? '';
  return { type: 'DELETED', object: { ...before, metadata: { ...before.metadata, resourceVersion } } };
}

/** `sendInitialEvents`, with the rules of the API server: undefined when it was not said. */
function initialEvents({ info }: Context): boolean | undefined {
  const text = info.query.get('sendInitialEvents');
  const match = info.query.get('resourceVersionMatch') ?? '';
  const listOptions = { group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' };
  if (text === null) {
    if (!match) return undefined;
    throw invalid(listOptions, '', [
      fieldError.forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    ]);
  }
  if (match !== 'NotOlderThan') {
    throw invalid(listOptions, '', [
      fieldError.forbidden(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    ]);
  }
  return truthy(text);
}
