import { isIP } from 'node:net';
import type { ConfigView } from './config-view.ts';
import type { MachineConfig, SimulatedConfigDocument } from './decode-config.ts';
import { fieldAt, listAt, textAt } from './fields.ts';
import type { ValidationContext } from './validate-config.ts';
import { isSubnet } from './validate-network.ts';
import { simulatedDocumentKinds } from './value-shape.ts';

/** The rules of the documents besides v1alpha1, and between them and it. */
export function documentErrors(config: MachineConfig, view: ConfigView, context: ValidationContext): string[] {
  const own = config.documents.flatMap((document) =>
    (documentRules[document.kind]?.(document) ?? []).map((error) => `${idOf(document)}: ${error}`),
  );
  return [...own, ...conflictErrors(config), ...controlPlaneOnlyErrors(config, view, context)];
}

const idOf = (document: SimulatedConfigDocument): string =>
  document.name === '' ? document.kind : `${document.kind}/${document.name}`;

const nameErrors = (document: SimulatedConfigDocument): string[] =>
  document.name === '' ? ['name must be specified'] : [];

const documentRules: Readonly<Record<string, (document: SimulatedConfigDocument) => string[]>> = {
  HostnameConfig: hostnameErrors,
  LinkConfig: linkErrors,
  VLANConfig: linkErrors,
  BondConfig: linkErrors,
  BridgeConfig: linkErrors,
  DHCPv4Config: nameErrors,
  DHCPv6Config: nameErrors,
  LinkAliasConfig: (document) => [
    ...nameErrors(document),
    ...(textAt(document.body, 'selector.match') === '' ? ['link selector is required'] : []),
  ],
  Layer2VIPConfig: (document) => [
    ...nameErrors(document),
    ...(document.name !== '' && isIP(document.name) === 0
      ? [`name must be a valid IP address: ParseAddr("${document.name}"): unable to parse IP`]
      : []),
    ...(textAt(document.body, 'link') === '' ? ['link must be specified'] : []),
  ],
  ResolverConfig: (document) =>
    listAt(document.body, 'nameservers')
      .map((server) => textAt(server, 'address'))
      .filter((address) => isIP(address) === 0)
      .map((address) => `nameserver "${address}" must be a valid IP address`),
  WatchdogTimerConfig: (document) => (textAt(document.body, 'device') === '' ? ['watchdog device: empty value'] : []),
};

function hostnameErrors(document: SimulatedConfigDocument): string[] {
  const auto = textAt(document.body, 'auto');
  const hostname = textAt(document.body, 'hostname');
  const first = hostname.split('.')[0] ?? '';
  const errors: string[] = [];
  if (auto === '' && hostname === '') errors.push("either 'auto' or 'hostname' must be set");
  if (auto !== '' && auto !== 'off' && hostname !== '') {
    errors.push("'auto' and 'hostname' cannot be set at the same time");
  }
  if (auto !== '' && auto !== 'off' && auto !== 'stable') errors.push(`invalid value for 'auto': ${auto}`);
  if (hostname.length > 253) errors.push(`fqdn is too long: ${hostname.length}`);
  if (hostname !== '' && (first.length === 0 || first.length > 63)) errors.push(`invalid hostname "${first}"`);
  return errors;
}

function linkErrors(document: SimulatedConfigDocument): string[] {
  const addresses = listAt(document.body, 'addresses').map((item) => textAt(item, 'address'));
  return [
    ...nameErrors(document),
    ...addresses.flatMap((address, index) =>
      address === ''
        ? [`address ${index} must be specified`]
        : isSubnet(address)
          ? []
          : [`address ${index} must be a valid IP prefix`],
    ),
    ...listAt(document.body, 'routes').flatMap((route, index) => {
      const gateway = textAt(route, 'gateway');
      const destination = textAt(route, 'destination');
      return [
        ...(destination !== '' && !isSubnet(destination)
          ? [`route ${index} destination must be a valid IP prefix`]
          : []),
        ...(gateway !== '' && isIP(gateway) === 0 ? [`route ${index} gateway must be a valid IP address`] : []),
      ];
    }),
  ];
}

function conflictErrors({ legacy, documents }: MachineConfig): string[] {
  const paths = documents.flatMap(({ kind }) => simulatedDocumentKinds[kind]?.conflicts ?? []);
  return [...new Set(paths)]
    .filter((path) => isThere(fieldAt(legacy, path)))
    .map((path) => `.${path} is already set in v1alpha1 config`);
}

const isThere = (value: unknown): boolean =>
  ![undefined, null, '', false].includes(value as never) && !(Array.isArray(value) && value.length === 0);

/** Kinds for control planes only: since Talos 1.14 a worker refuses them. */
function controlPlaneOnlyErrors(config: MachineConfig, view: ConfigView, context: ValidationContext): string[] {
  if (context.minor < 14 || !config.legacy || view.type === 'controlplane' || view.type === 'init') return [];
  const wrong = config.documents
    .filter((document) => simulatedDocumentKinds[document.kind]?.controlPlaneOnly)
    .map((document) => document.kind);
  return wrong.length > 0
    ? [`the following document kinds are only allowed on control plane machines: [${[...new Set(wrong)].join(' ')}]`]
    : [];
}
