/** Listening addresses when all simulators start together: the real ports on separate loopback addresses. */
export const defaultAddresses: Readonly<Record<string, { host: string; port: number }>> = {
  kube: { host: '127.42.0.2', port: 6443 },
  truenas: { host: '127.42.0.10', port: 8443 },
  'image-factory': { host: '127.42.0.20', port: 8080 },
  oidc: { host: '127.42.0.50', port: 8443 },
  robot: { host: '127.42.0.60', port: 8443 },
  operator: { host: '127.42.0.40', port: 0 },
};
