import { conflictRobotError, invalidInputError } from '../errors.ts';
import { type FormArray, type FormValue, formArrays, formText } from '../php-form.ts';

const fields = [
  'ip_version',
  'name',
  'dst_ip',
  'src_ip',
  'dst_port',
  'src_port',
  'protocol',
  'tcp_flags',
  'action',
] as const;
const allowed: Readonly<Record<string, RegExp>> = {
  ip_version: /^ipv[46]$/,
  protocol: /^(?:tcp|udp|gre|icmp|ipip|ah|esp)$/,
  action: /^(?:accept|discard)$/,
  dst_port: /^\d{1,5}(?:-\d{1,5})?$/,
  src_port: /^\d{1,5}(?:-\d{1,5})?$/,
};
const directions = ['input', 'output'] as const;
/** On the switch port. */
const maximumRules = 10;

/** Null is any. */
export type FirewallRule = Readonly<Record<(typeof fields)[number], string | null>>;
export interface FirewallRules {
  readonly input: readonly FirewallRule[];
  readonly output: readonly FirewallRule[];
}

export const noFirewallRules: FirewallRules = { input: [], output: [] };

/** Parses `rules[input][0][action]=accept` and similar fields. Throws a RobotError that names the field. */
export function parseFirewallRules(value: FormValue | undefined): FirewallRules {
  const given: FormArray = typeof value === 'object' ? value : {};
  const [input = [], output = []] = directions.map((direction) =>
    formArrays(given[direction]).map((rule, index) => parseFirewallRule(rule, `rules[${direction}][${index}]`)),
  );
  if (input.length > maximumRules || output.length > maximumRules) {
    throw conflictRobotError('FIREWALL_RULE_LIMIT_EXCEEDED', 'too many rules');
  }
  return { input, output };
}

function parseFirewallRule(given: FormArray, path: string): FirewallRule {
  const entries = fields.map((field) => [field, formText(given, field) || null] as const);
  const rule = Object.fromEntries(entries) as FirewallRule;
  if (rule.action === null) throw invalidInputError({ missing: [`${path}[action]`] });
  const invalid = entries.flatMap(([field, value]) =>
    value === null || (allowed[field]?.test(value) ?? true) ? [] : [`${path}[${field}]`],
  );
  const addresses = [rule.dst_ip, rule.src_ip].some((ip) => ip !== null);
  if (rule.protocol !== null && rule.ip_version === null) invalid.push(`${path}[ip_version]`);
  if (rule.ip_version === 'ipv6' && addresses) invalid.push(`${path}[dst_ip]`);
  if (rule.ip_version === 'ipv6' && rule.protocol === 'icmp') invalid.push(`${path}[protocol]`);
  if (invalid.length > 0) throw invalidInputError({ invalid });
  return rule;
}
