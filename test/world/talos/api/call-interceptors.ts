import type { Interceptor, StreamResponse, UnaryResponse } from '@connectrpc/connect';
import { applyFaultAfterCall, applyFaultBeforeCall } from '../../faults/apply-fault.ts';
import type { Fault } from '../../faults/call-interceptor.ts';
import type { TalosNode } from '../node.ts';
import { permissionDeniedError, toFaultError, unavailableError, unimplementedError } from './errors.ts';
import { forwardCall } from './forward-to-nodes.ts';
import { callerKey, type GrpcCaller } from './grpc-server.ts';
import { knownRoles, mayCallMethod } from './roles.ts';
import { rolesKey } from './roles-context.ts';

/**
 * The steps before a method: the call is recorded, faults are applied, the caller is authorized, the call is forwarded.
 */
export const callInterceptor =
  (node: TalosNode, maintenance: boolean): Interceptor =>
  (next) =>
  async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    const caller = request.contextValues.get(callerKey);
    const detail = { node: node.machine.name, address: node.addresses[0] };
    const from = caller.session?.socket?.remoteAddress;
    const content = request.stream ? undefined : request.message;
    const fault = node.world.switchboard.pass('talos', method, detail, content, from);
    if (await applyFaultBeforeCall(fault)) throw dropConnection(caller);
    if (fault?.kind === 'error') throw toFaultError(fault);
    if (maintenance && node.minor < 13 && !legacyMaintenanceMethods.test(method)) {
      throw unimplementedError('API is not implemented in maintenance mode');
    }
    const roles = rolesOf(caller, request.header, maintenance);
    if (!mayCallMethod(method, roles, maintenance)) throw permissionDeniedError();
    request.contextValues.set(rolesKey, roles);
    return await handleWithFault(fault, caller, async () => {
      return (await (maintenance ? undefined : forwardCall(node, request, roles))) ?? (await next(request));
    });
  };

/** Until Talos 1.12 maintenance mode was a separate service with only these calls. */
const legacyMaintenanceMethods = /^(?:machine\.MachineService\/ApplyConfiguration|cosi\.resource\.State\/)/;

function rolesOf(caller: GrpcCaller, header: Headers, maintenance: boolean): ReadonlySet<string> {
  if (maintenance) return new Set(['os:reader']);
  const roles = caller.organizations.filter((organization) => knownRoles.has(organization));
  if (!roles.includes('os:impersonator')) return new Set(roles);
  const asked = (header.get('talos-role') ?? '').split(',').map((role) => role.trim());
  return new Set(asked.filter((role) => knownRoles.has(role)));
}

/** Does the work and sends its answer, unless a fault loses it. An error is also an answer. */
async function handleWithFault<A extends UnaryResponse | StreamResponse>(
  fault: Fault | undefined,
  caller: GrpcCaller,
  work: () => Promise<A>,
): Promise<A> {
  const [outcome] = await Promise.allSettled([work()]);
  const isLost = fault?.kind === 'lose-reply' || fault?.kind === 'silence';
  if (outcome.status === 'fulfilled' && isLost && outcome.value.stream) {
    for await (const _message of outcome.value.message);
  }
  if (await applyFaultAfterCall(fault)) throw dropConnection(caller);
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Ends the caller's connection. */
function dropConnection(caller: GrpcCaller): Error {
  caller.session?.destroy();
  return unavailableError('the connection was cut');
}
