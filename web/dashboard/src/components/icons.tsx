/** Outlines of 20 by 20, drawn in the colour of the text, in one size and stroke (.icon). Decoration: the name of a button is its text or aria-label. */
const PATHS = {
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12Zm4.5-1.5L17 17",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  whole: "M4 8V4h4M12 4h4v4M16 12v4h-4M8 16H4v-4",
  copy: "M7.5 8.5a1 1 0 0 1 1-1h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1zM4.5 12.5a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1h7a1 1 0 0 1 1 1",
  duplicate: "M7.5 8.5a1 1 0 0 1 1-1h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1zM4.5 12.5a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1h7a1 1 0 0 1 1 1M12 9.8v4.4M9.8 12h4.4",
  check: "m4 10.5 4 4 8-9",
  qr: "M3 3h5v5H3zM12 3h5v5h-5zM3 12h5v5H3zM12 12h2v2h-2zM15 15h2v2h-2zM12 17h1M17 12h.01",
  edit: "M3.5 16.5 4.5 12l8.8-8.8a1 1 0 0 1 1.4 0l2.1 2.1a1 1 0 0 1 0 1.4L8 15.5zM11.5 5 15 8.5",
  trash: "M3.5 5.5h13M7.5 5.5V3h5v2.5M5 5.5 5.8 17h8.4L15 5.5M8.5 9v4.5M11.5 9v4.5",
  more: "M4 10a.8.8 0 1 0 1.6 0a.8.8 0 1 0-1.6 0M9.2 10a.8.8 0 1 0 1.6 0a.8.8 0 1 0-1.6 0M14.4 10a.8.8 0 1 0 1.6 0a.8.8 0 1 0-1.6 0",
  close: "m5 5 10 10M15 5 5 15",
  left: "m12.5 5-5 5 5 5",
  right: "m7.5 5 5 5-5 5",
  undo: "M7 12 3 8l4-4M3 8h9.5a4.2 4.2 0 0 1 0 8.5H8",
  external: "M8 4H3.5v12.5H16V12M11.5 3.5h5v5M16.5 3.5l-8 8",
  chart: "M4 16.5V10M8 16.5v-13M12 16.5v-4M16 16.5v-9",
  link: "M8.5 11.5 11.5 8.5M9 6l2-2a3.5 3.5 0 0 1 5 5l-2 2M11 14l-2 2a3.5 3.5 0 0 1-5-5l2-2",
  key: "M12.5 11a4 4 0 1 0-3.7-2.4L3 14.3V17h3v-2h2v-2h1.5l1-2.1c.6.1 1.3.1 2 .1ZM13.5 6.5h.01",
  user: "M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3.5 17c.8-3 3.3-4.5 6.5-4.5s5.7 1.5 6.5 4.5",
  users: "M8 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 16.5C3 13.8 5.2 12.5 8 12.5s5 1.3 5.5 4M13 4.3a3 3 0 0 1 0 5.4M15 12.8c1.5.6 2.3 1.9 2.6 3.7",
  shield: "M10 3 4 5.5V10c0 3.5 2.5 6 6 7 3.5-1 6-3.5 6-7V5.5L10 3Z",
  list: "M7 5h10M7 10h10M7 15h10M3.5 5h.01M3.5 10h.01M3.5 15h.01",
  menu: "M3 5.5h14M3 10h14M3 14.5h14",
  download: "M10 3v9.5M6 8.5l4 4 4-4M3.5 16.5h13",
  upload: "M10 13V3.5M6 7.5l4-4 4 4M3.5 16.5h13",
  clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 6v4l2.5 2",
  help: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM8 8a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.5M10 14h.01",
  logout: "M8 4H4v12h4M9 10h8M14 7l3 3-3 3",
  filter: "M3 5h14M6 10h8M8.5 15h3",
  pause: "M5 4h3v12H5zM12 4h3v12h-3z",
  play: "m5.5 3.5 11 6.5-11 6.5z",
  tag: "M3.5 3.5h6l7 7-6 6-7-7zM7 7h.01",
  pulse: "M2.5 10.5H6L8.5 4l3.5 12 2-5.5h3.5",
  switch: "M6.5 7.5 10 4l3.5 3.5M6.5 12.5 10 16l3.5-3.5",
  mail: "M3 5h14v10H3zM3 6l7 5.5L17 6",
  flag: "M4.5 17V3.5h11L13 7l2.5 3.5h-11",
  phone: "M5.5 3h9v14h-9zM9 14.5h2",
  send: "M10 12.5V3M6.5 6.5 10 3l3.5 3.5M4 10v6.5h12V10",
  calendar: "M3.5 5h13v11.5h-13zM3.5 8.5h13M7 3v3.5M13 3v3.5",
  down: "m5.5 8 4.5 4.5L14.5 8",
  up: "m5.5 12 4.5-4.5 4.5 4.5",
  fork: "M10 17v-5L5.5 7.5v-4M10 12l4.5-4.5v-4M3.5 5.5l2-2 2 2M12.5 5.5l2-2 2 2",
  merge: "M5 3.5v3c0 3.5 5 3 5 6.5v4M15 3.5v3c0 3.5-5 3-5 6.5M8 15l2 2 2-2",
  campaign: "M3 8v4h3l9 4.5v-13L6 8zM6 12v5h3v-3.5M17.5 8.5v3",
  server: "M3 3.5h14V9H3zM3 11h14v5.5H3zM6.5 6.3h.01M6.5 13.8h.01",
  sort: "M6 4v12M3.5 13.5 6 16l2.5-2.5M11 5h6M11 9h4.5M11 13h3",
  branch: "M5.5 6.5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM5.5 17.1a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM14.5 9.5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM5.5 6.5v7M14.5 9.5c0 3.5-6.5 2-8.6 4.3",
  lock: "M4 9h12v8H4zM6.5 9V6.5a3.5 3.5 0 0 1 7 0V9",
  info: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 9.5V14M10 6.5h.01",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M13 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM7 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  home: "M3.5 9 10 3l6.5 6v8H12v-4.5H8V17H3.5z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <path d="M7 10.5 12 22l4-9 4 9 5-11.5" fill="none" stroke="var(--surface)" stroke-width="3.2" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
