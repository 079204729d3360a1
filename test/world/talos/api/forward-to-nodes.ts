import { isIP } from 'node:net';
import type { Message } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type StreamRequest,
  type StreamResponse,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { withHttp2Authority } from '../../../../src/lib/net/http2-authority.ts';
import { toAuthority } from '../../../../src/lib/net/ip.ts';
import { MetadataSchema } from '../../../../src/talos/gen/common_pb.ts';
import { acceptedCas, apiAuthoritiesOf } from '../certificates/accepted-authorities.ts';
import { clientAuth, issueLeaf, openAuthority } from '../certificates/pki.ts';
import { talosApiPort } from '../environment.ts';
import type { TalosNode } from '../node.ts';
import { invalidArgumentError, permissionDeniedError, unavailableError, unimplementedError } from './errors.ts';

type Request = UnaryRequest | StreamRequest;
type Response = UnaryResponse | StreamResponse;

/**
 * The proxying of control planes (talos: internal/app/apid/pkg/director). Undefined when the call is for this node
 * itself.
 */
export async function forwardCall(
  node: TalosNode,
  request: Request,
  roles: ReadonlySet<string>,
): Promise<Response | undefined> {
  if (request.header.has('proxyfrom')) return undefined;
  const many = split(request.header.get('nodes'));
  const one = split(request.header.get('node'));
  if (one.length > 1) throw invalidArgumentError('node metadata must be single-valued');
  const targets = many.length > 0 ? many : one;
  if (targets.length === 0) return undefined;
  if (!node.isControlPlane) {
    if (targets.length === 1 && isLocal(node, targets[0] ?? '')) return undefined;
    throw permissionDeniedError('no request forwarding');
  }
  const method = `/${request.service.typeName}/${request.method.name}`;
  if (many.length > 0 && request.service.typeName !== 'machine.MachineService') {
    throw invalidArgumentError(`one-2-many proxying is not supported for method ${method}`);
  }
  if (targets.length > 1) throw unimplementedError('calls to several nodes at once are not simulated');
  const [target = ''] = targets;
  const header = { proxyfrom: node.addresses[0] ?? '', 'talos-role': [...roles].join(',') };
  const transport = await transportTo(node, target);
  const call = async () => withOwnHeaders(request, await callNode(transport, request, header));
  return many.length === 0 ? await call() : await namedAnswer(request, target, call);
}

const split = (value: string | null): string[] =>
  (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const isLocal = (node: TalosNode, target: string): boolean =>
  node.addresses.includes(target) || target === node.hostname;

const transports = new WeakMap<TalosNode, Map<string, Transport>>();

/** A connection to another node with the control plane's own client certificate, open until the node ends. */
async function transportTo(node: TalosNode, target: string): Promise<Transport> {
  const address = isIP(target) === 0 ? addressOfMember(node, target) : target;
  if (address === undefined) throw new ConnectError(`invalid target "${target}"`, Code.Internal);
  const known = transports.get(node) ?? new Map<string, Transport>();
  transports.set(node, known);
  const id = `${address} ${apiAuthoritiesOf(node)}`;
  const open = known.get(id);
  if (open) return open;
  const view = node.config?.view;
  if (!view) throw permissionDeniedError('no request forwarding');
  const authority = await openAuthority(view.osCa.crt, view.osCa.key);
  const leaf = await issueLeaf(authority, {
    commonName: node.hostname,
    organizations: ['os:impersonator'],
    usages: [clientAuth],
    hours: 24,
  });
  const baseUrl = `https://${toAuthority(address, talosApiPort)}`;
  const sessionManager = new Http2SessionManager(
    baseUrl,
    {},
    withHttp2Authority(address, { ca: acceptedCas(node), cert: leaf.cert, key: leaf.key }),
  );
  const transport = createGrpcTransport({ baseUrl, sessionManager });
  known.set(id, transport);
  // A forwarded stream ends when the other end closes it.
  node.onClosed(() => sessionManager.abort(new Error('the machine is off')));
  return transport;
}

/** Names are resolved among the members of the cluster (hostDNS); `host:port` is not a valid target. */
function addressOfMember(node: TalosNode, target: string): string | undefined {
  if (isLocal(node, target)) return node.addresses[0];
  const members = node.resources.list('cluster', 'Members.cluster.talos.dev');
  const found = members.find((member) => member.id === target)?.spec as { addresses?: string[] } | undefined;
  return found?.addresses?.[0];
}

async function callNode(transport: Transport, request: Request, header: Record<string, string>): Promise<Response> {
  const { method, signal, message } = request;
  try {
    return request.stream
      ? await transport.stream(method as never, signal, undefined, header, message as AsyncIterable<never>)
      : await transport.unary(method as never, signal, undefined, header, message as never);
  } catch (error) {
    throw toGoClientError(ConnectError.from(error));
  }
}

/** Messages that the other node sent stay unchanged; a failed connection is reported as a Go client reports it. */
function toGoClientError(error: ConnectError): ConnectError {
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  if (typeof code !== 'string') return error;
  const reason = /CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)
    ? 'authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority'
    : `Error while dialing: ${error.rawMessage}`;
  return unavailableError(`connection error: desc = "transport: ${reason}"`);
}

/** A forwarded answer with this server's own headers. */
function withOwnHeaders<A extends Response>(request: Request, answer: A): A {
  const header = new Headers({ 'content-type': request.header.get('content-type') ?? 'application/grpc+proto' });
  return { ...answer, header, trailer: new Headers({ 'grpc-status': '0' }) };
}

type Answer = Message & { messages?: (Message & { metadata?: unknown })[]; metadata?: unknown };

/** The answer of a named node, with its name in each element, as talosctl shows it; an error is in an element, too. */
async function namedAnswer(request: Request, hostname: string, call: () => Promise<Response>): Promise<Response> {
  try {
    const answer = await call();
    const metadata = create(MetadataSchema, { hostname });
    if (answer.stream) return { ...answer, message: namedMessages(answer.message, metadata) } as StreamResponse;
    for (const element of (answer.message as Answer).messages ?? []) element.metadata = metadata;
    return answer;
  } catch (error) {
    if (request.stream) throw error;
    const { rawMessage, code } = ConnectError.from(error);
    const status = { code, message: rawMessage, details: [] };
    const metadata = { hostname, error: `rpc error: code = ${Code[code]} desc = ${rawMessage}`, status };
    const message = create(request.method.output, { messages: [{ metadata }] } as never);
    const { service, method } = request;
    return withOwnHeaders(request, { stream: false, service, method, message } as UnaryResponse);
  }
}

async function* namedMessages(messages: AsyncIterable<Message>, metadata: unknown): AsyncIterable<Message> {
  for await (const message of messages) {
    if (/^machine\.|^common\.Data$/.test(message.$typeName)) (message as Answer).metadata = metadata;
    yield message;
  }
}
