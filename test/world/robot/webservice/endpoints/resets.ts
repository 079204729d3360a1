import { resetTypes, type ServerResetType, type ServerState } from '../../state.ts';
import { endpoint, okReply, type RobotEndpoint, serverIdentityFields, serverOfRequest } from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText } from '../php-form.ts';

const describe = (server: ServerState) => ({ ...serverIdentityFields(server), type: server.resets });

function requireResettable(server: ServerState): ServerState {
  if (server.resets.length === 0)
    throw notFoundRobotError('RESET_NOT_AVAILABLE', 'reset not available for this server');
  return server;
}

function operatingStatus({ tellsOperatingStatus, machine }: ServerState): string {
  if (!tellsOperatingStatus) return 'not supported';
  return machine.isOn ? 'running' : 'shut off';
}

const isOffered = (server: ServerState, type: string): type is ServerResetType =>
  (resetTypes as readonly string[]).includes(type) && (server.resets as readonly string[]).includes(type);

export const resetEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /reset/{n}', (ask) => {
    const server = requireResettable(serverOfRequest(ask));
    return okReply({ reset: { ...describe(server), operating_status: operatingStatus(server) } });
  }),
  endpoint('POST /reset/{n}', (ask) => {
    const server = requireResettable(serverOfRequest(ask));
    const type = formText(ask.form, 'type');
    if (type === undefined) throw invalidInputError({ missing: ['type'] });
    if (!isOffered(server, type)) throw invalidInputError({ invalid: ['type'] });
    if (server.manualResetOpen) throw conflictRobotError('RESET_MANUAL_ACTIVE', 'a manual reset is active');
    if (type === 'man') server.manualResetOpen = true;
    else server.machine.reset(type);
    // The sample in the documentation has no number here.
    const { server_number: _, ...identity } = serverIdentityFields(server);
    return okReply({ reset: { ...identity, type } });
  }),
];
