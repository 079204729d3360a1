import type { ServerResponse } from 'node:http';
import type { ApiResource } from '../builtin/resources.ts';
import { type ApiError, expiredError, fieldErrors, invalidError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import { viewThroughResource } from '../request/object-view.ts';
import { truthy } from '../request/request-info.ts';
import { matcherOf, parseResourceVersion } from './list-objects.ts';
import type { ApiObject, StoreChange } from './store.ts';

/** The form of a stream's objects: whole, metadata only, or rows of a table. */
export type FormatObject = (object: ApiObject) => JsonObject;

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const bookmarkSeconds = 60;

/** Starts a watch on an open response. Returns the function that ends it. Throws only before the first write. */
export function startWatch(
  context: RequestContext,
  resource: ApiResource,
  namespace: string | undefined,
  response: ServerResponse,
  dress: FormatObject,
): () => void {
  const { storage, info } = context;
  const matches = matcherOf(context, resource);
  const asked = info.query.get('resourceVersion') ?? '';
  const wantsInitial = initialEvents(context);
  const from = asked === '' || asked === '0' ? undefined : parseResourceVersion(asked);
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
      const shown = viewThroughResource(resource, object);
      if (matches(shown)) send('ADDED', dress(shown));
    }
    if (wantsInitial === true) bookmark({ 'k8s.io/initial-events-end': 'true' });
  } else {
    const missed = storage.since(from);
    if (!missed) {
      send('ERROR', versionTooOldError(from, storage.compacted).status as unknown as JsonObject);
      response.end();
      return () => {};
    }
    for (const change of missed) relay(change);
  }
  return keepWatchOpen(context, response, relay, bookmark);
}

function keepWatchOpen(
  { storage, info }: RequestContext,
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

const versionTooOldError = (asked: number, oldest: number): ApiError =>
  expiredError(`too old resource version: ${asked} (${oldest})`);

/** The event of a change for a watch with a selector. */
function toEvent(
  change: StoreChange,
  resource: ApiResource,
  matches: (object: ApiObject) => boolean,
): { type: EventType; object: ApiObject } | undefined {
  const object = viewThroughResource(resource, change.object);
  const before = change.before && viewThroughResource(resource, change.before);
  const was = before !== undefined && matches(before);
  const is = change.type !== 'DELETED' && matches(object);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object };
  if (!was) return undefined;
  // An object that leaves the selection is sent in its old state, at the version of the change.
  const resourceVersion = change.object.metadata.resourceVersion ?? '';
  return { type: 'DELETED', object: { ...before, metadata: { ...before.metadata, resourceVersion } } };
}

/** `sendInitialEvents`, with the rules of the API server: undefined when it is not set. */
function initialEvents({ info }: RequestContext): boolean | undefined {
  const text = info.query.get('sendInitialEvents');
  const match = info.query.get('resourceVersionMatch') ?? '';
  const listOptions = { group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' };
  if (text === null) {
    if (!match) return undefined;
    throw invalidError(listOptions, '', [
      fieldErrors.forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    ]);
  }
  if (match !== 'NotOlderThan') {
    throw invalidError(listOptions, '', [
      fieldErrors.forbidden(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    ]);
  }
  return truthy(text);
}
