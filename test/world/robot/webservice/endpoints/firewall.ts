import type { FirewallState, ServerState } from '../../state.ts';
import { runLater } from '../../world-time.ts';
import { okReply, type RobotEndpoint, serverOfRequest, type WebserviceRequest } from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText } from '../php-form.ts';
import { noFirewallRules, parseFirewallRules } from './firewall-rules.ts';

const describe = (server: ServerState, firewall: FirewallState) => ({
  firewall: {
    server_ip: server.address,
    server_number: server.number,
    status: firewall.isApplying ? 'in process' : firewall.status,
    filter_ipv6: firewall.filterIpv6,
    whitelist_hos: firewall.whitelistHos,
    port: 'main',
    // An empty PHP array.
    rules: firewall.isCleared ? {} : firewall.rules,
  },
});

function firewallOfRequest(ask: WebserviceRequest): { server: ServerState; firewall: FirewallState } {
  const server = serverOfRequest(ask);
  if (!server.firewall) throw notFoundRobotError('FIREWALL_NOT_AVAILABLE', 'firewall not available for this server');
  return { server, firewall: server.firewall };
}

/** The switch takes a while and refuses other changes until then. All rules are replaced. */
function apply(ask: WebserviceRequest, next: (firewall: FirewallState) => Partial<FirewallState>) {
  const { server, firewall } = firewallOfRequest(ask);
  if (firewall.isApplying) throw conflictRobotError('FIREWALL_IN_PROCESS', 'the firewall is being updated');
  const change = next(firewall);
  Object.assign(firewall, change, { isApplying: true });
  runLater(ask.robot, ask.robot.delays.firewallSeconds, () => {
    firewall.isApplying = false;
  });
  return okReply(describe(server, firewall));
}

/** Parses a boolean. */
export function parseFlag({ form }: WebserviceRequest, name: string, usual: boolean): boolean {
  const word = formText(form, name) ?? String(usual);
  if (word !== 'true' && word !== 'false') throw invalidInputError({ invalid: [name] });
  return word === 'true';
}

function firewallFromForm(ask: WebserviceRequest, { filterIpv6, whitelistHos }: FirewallState): Partial<FirewallState> {
  const { account, form } = ask;
  const status = formText(form, 'status');
  if (status === undefined) throw invalidInputError({ missing: ['status'] });
  if (status !== 'active' && status !== 'disabled') throw invalidInputError({ invalid: ['status'] });
  const common = { status, isCleared: false } as const;
  const templateId = formText(form, 'template_id');
  if (templateId === undefined) {
    return {
      ...common,
      filterIpv6: parseFlag(ask, 'filter_ipv6', filterIpv6),
      whitelistHos: parseFlag(ask, 'whitelist_hos', whitelistHos),
      rules: parseFirewallRules(form['rules']),
    };
  }
  const template = account.templates.get(Number(templateId));
  if (!template) throw notFoundRobotError('FIREWALL_TEMPLATE_NOT_FOUND', 'template not found');
  const { rules } = template;
  return { ...common, rules, filterIpv6: template.filterIpv6, whitelistHos: template.whitelistHos };
}

export const firewallEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/firewall/{n}',
    group: 'firewall',
    handle: (ask) => {
      const { server, firewall } = firewallOfRequest(ask);
      return okReply(describe(server, firewall));
    },
  },
  {
    method: 'POST',
    path: '/firewall/{n}',
    group: 'firewall',
    handle: (ask) => apply(ask, (firewall) => firewallFromForm(ask, firewall)),
  },
  {
    method: 'DELETE',
    path: '/firewall/{n}',
    group: 'firewall',
    handle: (ask) =>
      apply(ask, () => ({
        status: 'disabled',
        filterIpv6: false,
        whitelistHos: true,
        rules: noFirewallRules,
        isCleared: true,
      })),
  },
];
