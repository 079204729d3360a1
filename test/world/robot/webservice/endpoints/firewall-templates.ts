import type { FirewallTemplate } from '../../state.ts';
import {
  createdReply,
  emptyReply,
  notFoundIfEmpty,
  okReply,
  type RobotEndpoint,
  type WebserviceRequest,
} from '../endpoint.ts';
import { invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText } from '../php-form.ts';
import { parseFlag } from './firewall.ts';
import { parseFirewallRules } from './firewall-rules.ts';

const summary = ({ id, name, filterIpv6, whitelistHos, isDefault }: FirewallTemplate) => ({
  id,
  name,
  filter_ipv6: filterIpv6,
  whitelist_hos: whitelistHos,
  is_default: isDefault,
});

const describe = (template: FirewallTemplate) => ({
  firewall_template: { ...summary(template), rules: template.rules },
});

function templateOfRequest({ account, params }: WebserviceRequest): FirewallTemplate {
  const template = account.templates.get(Number(params['id']));
  if (!template) throw notFoundRobotError();
  return template;
}

function templateFromForm(ask: WebserviceRequest): Omit<FirewallTemplate, 'id'> {
  const name = formText(ask.form, 'name');
  if (name === undefined) throw invalidInputError({ missing: ['name'] });
  return {
    name,
    filterIpv6: parseFlag(ask, 'filter_ipv6', false),
    whitelistHos: parseFlag(ask, 'whitelist_hos', false),
    isDefault: parseFlag(ask, 'is_default', false),
    rules: parseFirewallRules(ask.form['rules']),
  };
}

export const firewallTemplateEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/firewall/template',
    group: 'firewall',
    handle: ({ account }) =>
      okReply(
        notFoundIfEmpty([...account.templates.values()].map((template) => ({ firewall_template: summary(template) }))),
      ),
  },
  {
    method: 'POST',
    path: '/firewall/template',
    group: 'firewall',
    handle: (ask) => {
      const template = { id: ask.robot.nextId++, ...templateFromForm(ask) };
      ask.account.templates.set(template.id, template);
      return createdReply(describe(template));
    },
  },
  {
    method: 'GET',
    path: '/firewall/template/{id}',
    group: 'firewall',
    handle: (ask) => okReply(describe(templateOfRequest(ask))),
  },
  {
    method: 'POST',
    path: '/firewall/template/{id}',
    group: 'firewall',
    handle: (ask) => {
      const template = templateOfRequest(ask);
      Object.assign(template, templateFromForm(ask));
      return okReply(describe(template));
    },
  },
  {
    method: 'DELETE',
    path: '/firewall/template/{id}',
    group: 'firewall',
    handle: (ask) => {
      ask.account.templates.delete(templateOfRequest(ask).id);
      return emptyReply;
    },
  },
];
