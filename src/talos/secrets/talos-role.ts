/** Roles of the Talos API (`pkg/machinery/role` of Talos). */
export const talosRoles = ['os:admin', 'os:operator', 'os:reader', 'os:etcd:backup'] as const;
export type TalosRole = (typeof talosRoles)[number];
